// The strip below the matrices: the animation of the shift, or how far back every layer knows.
#include <algorithm>
#include <cmath>

#include "viewer/pages/transformer_xl/memory_plots.h"
#include "viewer/pages/transformer_xl/transformer_xl.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/animation_controls.h"
#include "viewer/ui/ui.h"

namespace locus {

namespace {

constexpr double kFramesPerSecond = 0.8;
// The example of the animation: the proverb, one segment.
constexpr const char* kShiftQueries[] = {"\uc774", "\ucc9c\ub9ac", "\uac04\ub2e4", "."};

/// At the left of the first frame: whose rows these are, which are not the words of the text above.
void name_queries(const Ui& ui, float x, const Rect& frame, Index rows) {
    ui.text(x, frame.y0 - ui.px(12), "example", ui.theme->muted, Face::label);
    for (Index i = 0; i < rows; ++i)
        ui.text(frame.x0 - ui.px(7),
                frame.y0 + (static_cast<float>(i) + 0.5f) * frame.height() / static_cast<float>(rows), kShiftQueries[i],
                ui.theme->muted, Face::label, Align::right);
}

}  // namespace

void TransformerXlPage::draw_strip(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const float y = area.y0 + ui.px(8);
    float x = ui.choice("strip", area.x0, y, {"the shift", "how far back"}, state.strip) + ui.px(14);
    // T and M of the example, at the right end.
    const auto stepper = [&](const char* id, const char* name, float right, Index& value, Index low, Index high) {
        const float left = ui.stepper(id, right, y, std::to_string(value), value, low, high) - ui.px(7);
        return left - ui.text(left, y, name, ui.theme->muted, Face::label, Align::right) - ui.px(10);
    };
    float end = stepper("film memory", "memory", area.x1, state.animation_memory, 0, 4);
    end = stepper("film queries", "queries", end, state.animation_queries, 1, 4);
    const Rect below{area.x0, area.y0 + ui.px(28), area.x1, area.y1};
    if (state.strip == 1) {
        ui.text_within(x, y, end - x, "each layer looks at vectors that have looked back themselves", ui.theme->muted,
                       Face::label);
        return draw_reach(scene, below);
    }
    const float before = x;
    x = ui.choice("trick", x, y, {"Transformer-XL", "XLNet"}, state.trick) + ui.px(12);
    if (x > end) x = before;
    draw_animation(scene, below);
}

void TransformerXlPage::draw_animation(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    clock_.advance(state.animation, ImGui::GetTime(), last_frame(), kFramesPerSecond, scene.state.reduce_motion);
    const Index now = whole_frame(state.animation);
    const AnimationFrame& current = animation_[static_cast<std::size_t>(now)];
    const float y = area.y0 + ui.px(10);
    const float x = draw_animation_controls(ui, "film", area.x0, y, ui.px(84), state.animation, last_frame(),
                                            std::to_string(now + 1) + " of " + std::to_string(animation_.size()),
                                            scene.state.reduce_motion) +
                    ui.px(12);
    const Index leaked = leaked_cells(current);
    std::string what = current.what;
    if (leaked > 0) {
        const std::string whole = what + "; red: leaked, it belongs to another query or distance";
        what = ui.text_width(whole, Face::label) <= area.x1 - x ? whole : what + "; red: leaked";
    }
    ui.text_within(x, y, area.x1 - x, what, leaked == 0 ? ui.theme->muted : ui.theme->text, Face::label);
    const Rect frames{area.x0, area.y0 + ui.px(28), area.x1, area.y1};
    Index columns = 0, tallest = 0;
    for (const AnimationFrame& frame : animation_) {
        columns += frame.columns;
        tallest = std::max(tallest, frame.rows);
    }
    const float words = ui.px(40), arrow = ui.px(20), gaps = static_cast<float>(animation_.size()) - 1;
    const float by_width = (frames.width() - words - arrow * gaps) / static_cast<float>(columns);
    const float side = std::floor(std::min({by_width, frames.height() / static_cast<float>(tallest), ui.px(26)}));
    const float middle = frames.y0 + side * static_cast<float>(tallest) / 2;
    const float between =
        std::floor((frames.width() - words - side * static_cast<float>(columns)) / std::max(1.0f, gaps));
    std::vector<ImVec2> corners;
    float left = frames.x0 + words;
    for (std::size_t n = 0; n < animation_.size(); ++n) {
        const AnimationFrame& frame = animation_[n];
        const float wide = side * static_cast<float>(frame.columns), high = side * static_cast<float>(frame.rows);
        corners.push_back({left, std::floor(middle - high / 2)});
        const Rect box{left, corners[n].y, left + wide, corners[n].y + high};
        const bool moving = state.animation.at > static_cast<double>(now);
        draw_frame(scene, frame, corners[n], side, moving && static_cast<Index>(n) > now);
        if (static_cast<Index>(n) == now) ui.outline(box.inset(-ui.px(3), -ui.px(3)), ui.theme->accent, 2, 3);
        if (n == 0) name_queries(ui, area.x0, box, frame.rows);
        if (ui.touch(("frame" + std::to_string(n)).c_str(), box).clicked) {
            state.animation.at = static_cast<double>(n);
            state.animation.playing = false;
        }
        if (n > 0 && between >= ui.px(16)) {
            const float to = left - ui.px(6), from = left - between + ui.px(6);
            if (animation_[n - 1].goes_to.empty()) {
                ui.fill({(from + to) / 2, box.y0 - ui.px(3), (from + to) / 2 + ui.px(1), box.y1 + ui.px(3)},
                        ui.theme->line);
            } else {
                ui.draw().line({from, middle}, {to, middle}, ui.theme->muted, ui.px(1.25f));
                draw_arrow_head(ui, {to, middle}, 1, 0, ui.theme->muted, ui.px(1.25f), 5);
            }
        }
        left += wide + between;
    }
    draw_flight(scene, frames, corners, side);
}

/// Numbers on their way from one frame to the next.
void TransformerXlPage::draw_flight(const Scene& scene, const Rect& area, const std::vector<ImVec2>& corners,
                                    float side) const {
    const double at = scene.state.memory.animation.at;
    const auto now = static_cast<std::size_t>(whole_frame(scene.state.memory.animation));
    if (now + 1 >= animation_.size() || at <= static_cast<double>(now)) return;
    const AnimationFrame &from = animation_[now], &to = animation_[now + 1];
    const auto linear = static_cast<float>(at - static_cast<double>(now));
    const float share = linear * linear * (3 - 2 * linear);  // starts and stops softly
    scene.ui.draw().push_clip(area.min(), area.max());
    for (std::size_t n = 0; n < from.goes_to.size(); ++n) {
        if (from.goes_to[n] < 0) continue;
        const auto place = [&](const AnimationFrame& frame, const ImVec2& corner, Index cell) {
            return ImVec2{corner.x + static_cast<float>(cell % frame.columns) * side,
                          corner.y + static_cast<float>(cell / frame.columns) * side};
        };
        const ImVec2 a = place(from, corners[now], static_cast<Index>(n)),
                     b = place(to, corners[now + 1], from.goes_to[n]);
        draw_shift_cell(scene.ui, from.cells[n], {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share}, side, false);
    }
    scene.ui.draw().pop_clip();
}

void TransformerXlPage::draw_frame(const Scene& scene, const AnimationFrame& frame, ImVec2 corner, float side,
                                   bool pale) const {
    for (Index n = 0; n < frame.rows * frame.columns; ++n)
        draw_shift_cell(scene.ui, frame.cells[static_cast<std::size_t>(n)],
                        {corner.x + static_cast<float>(n % frame.columns) * side,
                         corner.y + static_cast<float>(n / frame.columns) * side},
                        side, pale);
}

void TransformerXlPage::draw_shift_cell(const Ui& ui, const AnimationCell& cell, ImVec2 corner, float side,
                                        bool pale) const {
    const Theme& theme = *ui.theme;
    const Rect box{corner.x, corner.y, corner.x + side - ui.px(1), corner.y + side - ui.px(1)};
    if (pale) return ui.outline(box, theme.line);
    // One tint per query; which distance it is, the number says.
    const float tint = (theme.name == ThemeName::light ? 0.42f : 0.55f) - 0.13f * static_cast<float>(cell.query);
    if (cell.hidden)
        ui.fill(box, to_colour(theme.hidden));
    else if (cell.leaked)
        ui.fill(box, theme.fault);
    else if (cell.padding)
        ui.outline(box, theme.line);
    else
        ui.fill(box, mixed(theme.background, theme.c2p, tint));
    if (cell.hidden)
        for (float s = ui.px(4); s < 2 * side; s += ui.px(5)) {
            const float from = std::max(0.0f, s - box.width()), to = std::min(box.height(), s);
            if (from < to)
                ui.draw().line({box.x0 + s - from, box.y0 + from}, {box.x0 + s - to, box.y0 + to},
                               faded(theme.muted, 0.45f), 1);
        }
    if (cell.hidden || side < ui.px(11)) return;
    ui.text(box.middle_x(), box.middle_y(), cell.padding ? "0" : whole(cell.distance),
            cell.leaked    ? theme.on_accent
            : cell.padding ? theme.muted
                           : theme.text,
            Face::mono_tiny, Align::centre);
}

void TransformerXlPage::draw_reach(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const MemoryState& state = scene.state.memory;
    const Index layers = std::min<Index>(4, sentence().sizes().layers), tokens = state.animation_queries;
    const Index memory = state.animation_memory, segments = layers + 1, columns = segments * tokens,
                query = columns - 1;
    const std::vector<Index> oldest = oldest_known(query, layers, tokens, memory);
    const float names = ui.px(54), numbers = ui.px(150);
    const Rect plot{area.x0 + names, area.y0 + ui.px(10), area.x1 - numbers, area.y1 - ui.px(18)};
    const float pitch = plot.width() / static_cast<float>(columns), high = plot.height() / static_cast<float>(layers);
    const auto x_of = [&](Index n) { return plot.x0 + (static_cast<float>(n) + 0.5f) * pitch; };
    const auto y_of = [&](Index layer) { return plot.y1 - static_cast<float>(layer) * high; };
    for (Index s = 0; s < segments; ++s) {
        const Rect box{x_of(s * tokens) - pitch / 2 + ui.px(2), plot.y0 - ui.px(9),
                       x_of((s + 1) * tokens - 1) + pitch / 2 - ui.px(2), plot.y1 + ui.px(9)};
        ui.fill(box, s + 1 == segments ? faded(ui.theme->accent, 0.13f) : ui.theme->chip, 4);
        ui.text_within(box.middle_x(), plot.y1 + ui.px(17), box.width(),
                       s + 1 == segments ? "now" : std::to_string(segments - 1 - s) + " before", ui.theme->muted,
                       Face::label, Align::centre);
    }
    // From the top down: a vector knows what the vectors of its keys know.
    std::vector<bool> known(static_cast<std::size_t>(columns), false);
    known.back() = true;
    const float radius = std::min(ui.px(4.5f), pitch * 0.3f);
    for (Index layer = layers; layer >= 0; --layer) {
        std::vector<bool> below(static_cast<std::size_t>(columns), false);
        for (Index n = 0; n < columns; ++n) {
            if (!known[static_cast<std::size_t>(n)]) {
                ui.draw().circle({x_of(n), y_of(layer)}, radius, faded(ui.theme->muted, 0.5f), ui.px(1));
                continue;
            }
            ui.draw().disc({x_of(n), y_of(layer)}, radius, ui.theme->c2p);
            if (layer == 0) continue;
            const SeenKeys keys = keys_of(n, tokens, memory);
            for (Index j = keys.first; j <= keys.last; ++j) {
                below[static_cast<std::size_t>(j)] = true;
                const bool remembered = j / tokens != n / tokens;
                ui.draw().line({x_of(n), y_of(layer) + radius}, {x_of(j), y_of(layer - 1) - radius},
                               faded(remembered ? ui.theme->c2p : ui.theme->muted, remembered ? 0.5f : 0.3f), ui.px(1));
            }
        }
        ui.text(area.x0, y_of(layer), layer == 0 ? "words" : "layer " + std::to_string(layer - 1), ui.theme->muted,
                Face::label);
        const Index reach = query - oldest[static_cast<std::size_t>(layer)];
        ui.text(plot.x1 + ui.px(16), y_of(layer), layer == 0 ? "itself" : std::to_string(reach) + " back",
                layer == 0 ? ui.theme->muted : ui.theme->text, Face::mono_small);
        known = below;
    }
}

}  // namespace locus
