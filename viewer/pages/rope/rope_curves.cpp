// Which channels make a plane, and what distance does to the score and to its bound.
#include <algorithm>
#include <cmath>

#include "viewer/pages/rope/rope.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/line_styles.h"

namespace locus {

void RopePage::draw_wires(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const float title = room.y0 + ui.px(6);
    ui.text(room.x0, title, "which two channels turn together?", ui.theme->text, Face::title);
    const float wide = ui.text_width("interleaved") + ui.text_width("half-split") + ui.px(44);
    ui.choice("layout", room.x1 - wide, title, {"interleaved", "half-split"}, state.layout);

    const Index width = numbers_.q.size();
    const std::vector<Index> ends = wire_ends(width, layout_of(state));
    const float labels = ui.px(58);
    const Rect area{room.x0 + labels, room.y0 + ui.px(30), room.x1, room.y1 - ui.px(2)};
    ui.text(room.x0, area.y0, "channels", ui.theme->muted, Face::label);
    ui.text(room.x0, area.y1, "planes", ui.theme->muted, Face::label);
    const float pitch = area.width() / static_cast<float>(width);
    const auto channel_x = [&](Index c) { return area.x0 + (static_cast<float>(c) + 0.5f) * pitch; };
    // The two slots of a plane stand closer together than two planes.
    const auto slot_x = [&](Index s) { return channel_x(s) + (s % 2 == 0 ? 0.2f : -0.2f) * pitch; };
    const float top = area.y0 + ui.px(8), bottom = area.y1 - ui.px(9), bend = (bottom - top) * 0.45f;
    for (const bool front : {false, true})
        for (Index c = 0; c < width; ++c) {
            const Index end = ends[static_cast<std::size_t>(c)], plane = end / 2;
            const bool marked = plane_ == static_cast<int>(plane);
            if (marked != front) continue;
            const ImU32 ink = marked         ? ui.theme->text
                              : end % 2 == 0 ? faded(ui.theme->accent, 0.75f)
                                             : faded(ui.theme->muted, 0.75f);
            ui.draw().curve({channel_x(c), top}, {channel_x(c), top + bend}, {slot_x(end), bottom - bend},
                            {slot_x(end), bottom}, ink, ui.px(marked ? 2.25f : 1.25f));
        }
    const Index every = pitch >= ui.px(15) ? 1 : pitch >= ui.px(8) ? 2 : 4;
    for (Index c = 0; c < width; c += every)
        ui.text(channel_x(c), area.y0, std::to_string(c), ui.theme->muted, Face::mono_tiny, Align::centre);
    for (Index t = 0; t < width / 2; ++t) {
        const float x = (slot_x(2 * t) + slot_x(2 * t + 1)) / 2;
        const Rect box{x - pitch, top, x + pitch, area.y1 + ui.px(8)};
        if (ui.touch(("wire" + std::to_string(t)).c_str(), box).hovered) next_plane_ = static_cast<int>(t);
        if (t % (pitch >= ui.px(8) ? 1 : 2) == 0)
            ui.text(x, area.y1, std::to_string(t), plane_ == static_cast<int>(t) ? ui.theme->text : ui.theme->muted,
                    Face::mono_tiny, Align::centre);
    }
}

void RopePage::draw_curves(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const Index distance = state.m - state.n;
    const float split = room.x0 + std::floor(room.width() * 0.62f), top = room.y0 + ui.px(24);
    const auto notes = [&](const Rect& area, const std::string& title, const std::string& note) {
        ui.text(area.x0, room.y0 + ui.px(8), title, ui.theme->text, Face::title);
        ui.text(area.x1, room.y0 + ui.px(8), note, ui.theme->muted, Face::mono_small, Align::right);
    };
    const Rect left{room.x0, top, split - ui.px(14), room.y1 - ui.px(16)},
        right{split + ui.px(4), top, room.x1, left.y1};
    notes(left, "score over distance", "this head, these two vectors");
    LinePlot plot;
    plot.first_x = -kReach;
    plot.x_name = "m \u2212 n";
    plot.decimals = 3;
    plot.zero_line = true;
    const auto [low, high] = std::minmax_element(numbers_.curve.begin(), numbers_.curve.end());
    const double spare = std::max(1e-9, (*high - *low) * 0.06);
    plot.low = std::min(0.0, *low - spare);
    plot.high = std::max(0.0, *high + spare);
    plot.curves = {{numbers_.curve, ui.theme->p2c, "score"}};
    if (std::abs(distance) <= kReach) plot.marked_x = static_cast<double>(distance);
    const auto under = draw_line_plot(ui, "curve", {left.x0, left.y0, left.x1, left.y1}, plot);
    if (under && ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
        state.m = std::clamp<Index>(state.n + static_cast<Index>(*under), 0, last_position());
        state.n = std::clamp<Index>(state.m - static_cast<Index>(*under), 0, last_position());
    }
    const float below = room.y1 - ui.px(5);
    ui.text(left.x0 + ui.px(34), below, "key to the right \u2190 m \u2212 n \u2192 key to the left", ui.theme->muted,
            Face::mono_small);

    notes(right, "bound of the paper", "B(|m \u2212 n|)");
    LinePlot bound;
    bound.x_name = "|m \u2212 n|";
    bound.decimals = 3;
    bound.high = *std::max_element(numbers_.bound.begin(), numbers_.bound.end()) * 1.06;
    bound.curves = {{numbers_.bound, ui.theme->muted, "B", true}};
    if (std::abs(distance) <= kReach) bound.marked_x = static_cast<double>(std::abs(distance));
    draw_line_plot(ui, "bound", {right.x0 - ui.px(6), right.y0, right.x1, right.y1}, bound);
    ui.text(right.x1, below,
            numbers_.rises == 0 ? "it never rises here"
                                : "not monotone: first rises at " + std::to_string(numbers_.first_rise),
            ui.theme->muted, Face::mono_small, Align::right);
}

}  // namespace locus
