// The tape of memory and segment with what one query looks at, and the film of the shift.
#include <algorithm>
#include <cmath>

#include "viewer/pages/transformer_xl.h"
#include "viewer/plots/number_format.h"
#include "viewer/strokes.h"

namespace locus {

namespace {

constexpr double kSecondsPerFrame = 1.2;
// The example of the film: the proverb in two segments of three.
constexpr const char* kFilmQueries[] = {"\uc774", "\ucc9c\ub9ac", "\uac04\ub2e4"};

}  // namespace

SegmentTape TransformerXlPage::tape_of(const MemoryState& state, const Rect& room) {
    return {room.x0, room.x1, exhibit().longest_memory(), state.memory, static_cast<Index>(exhibit().second().size())};
}

void TransformerXlPage::draw_tape(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const SegmentTape tape = tape_of(state, room);
    const Rect words{room.x0, room.y1 - ui.px(66), room.x1, room.y1};
    const float edge = tape.edge(tape.longest - tape.memory), seam = tape.edge(tape.longest);
    ui.text(room.x0, room.y0 + ui.px(4), "segment before, only its memory is left", ui.theme->muted, Face::label);
    ui.text(room.x1, room.y0 + ui.px(4), "segment that is read now", ui.theme->text, Face::title, Align::right);

    const Touch mouse = ui.touch("tape", words);
    if (mouse.clicked) {
        const Index on_tape = tape.word_at(mouse.at.x);
        if (on_tape >= tape.longest && !ImGui::GetIO().KeyShift)
            state.cell.i = on_tape - tape.longest;
        else if (tape.key_of(on_tape) >= 0)
            state.cell.j = on_tape;
        state.locked = true;
    }
    // The left end of the memory is a handle.
    const Touch handle = ui.touch("handle", {edge - ui.px(7), room.y0 + ui.px(12), edge + ui.px(7), words.y0});
    if (handle.held) state.memory = tape.memory_at(handle.at.x);
    ui.fill({edge, words.y0, seam - ui.px(1), words.y1}, ui.theme->chip, 4);
    ui.fill({seam + ui.px(1), words.y0, room.x1, words.y1}, faded(ui.theme->accent, 0.13f), 4);
    for (Index n = 0; n < tape.words(); ++n)
        draw_tape_word(scene, tape, {tape.edge(n), room.y0 + ui.px(16), tape.edge(n + 1), words.y1}, n);
    ui.fill({edge - ui.px(1), room.y0 + ui.px(16), edge + ui.px(1), words.y1},
            handle.hovered || handle.held ? ui.theme->text : ui.theme->muted);
    ui.draw().disc({edge, room.y0 + ui.px(16)}, ui.px(4), handle.hovered ? ui.theme->text : ui.theme->muted);
}

void TransformerXlPage::draw_tape_word(const Scene& scene, const SegmentTape& tape, const Rect& column, Index n) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const MemoryState& state = scene.state.memory;
    const float top = column.y1 - ui.px(66);
    const Index key = tape.key_of(n);
    const bool query = n - tape.longest == state.cell.i, chosen = n == state.cell.j && key >= 0;
    const Rect box{column.x0 + ui.px(1), top, column.x1 - ui.px(1), column.y1};
    if (query || chosen) ui.outline(box, query ? theme.accent : theme.c2p, 2, 3);
    const ImU32 ink = key < 0 ? faded(theme.muted, 0.45f) : query || chosen ? theme.text : faded(theme.text, 0.8f);
    ui.text_upwards(column.middle_x(), column.y1 - ui.px(5), ui.cut(word(n), ui.px(58), Face::label), ink, Face::label);
    if (key < 0 || n - tape.longest > state.cell.i) return;
    const float probability = panels_[5].values()(state.cell.i, key), room = top - column.y0 - ui.px(14);
    const float high = std::floor(room * probability);
    if (high < 1) return;
    ui.fill({column.x0 + ui.px(2), top - ui.px(2) - high, column.x1 - ui.px(2), top - ui.px(2)},
            chosen ? theme.c2p : theme.accent);
    // A number on every peak; beside a higher one there is no room for it.
    const auto beside = [&](Index other) {
        return other >= 0 && other < panels_[5].values().cols() ? panels_[5].values()(state.cell.i, other) : 0.0f;
    };
    if (probability >= 0.095f && probability >= beside(key - 1) && probability >= beside(key + 1))
        ui.text(column.middle_x(), top - ui.px(9) - high, fixed(static_cast<double>(probability), 2).substr(1),
                theme.text, Face::mono_tiny, Align::centre);
}

void TransformerXlPage::play(MemoryState& state) {
    if (!state.playing) {
        next_frame_ = 0;
        return;
    }
    const double now = ImGui::GetTime();
    if (next_frame_ == 0) {
        state.frame = 0;
        next_frame_ = now + kSecondsPerFrame;
    }
    if (now < next_frame_) return;
    next_frame_ = now + kSecondsPerFrame;
    if (++state.frame + 1 >= static_cast<Index>(film_.size())) state.playing = false;
}

void TransformerXlPage::draw_film(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const float y = room.y0 + ui.px(8);
    float x = room.x0 + ui.text(room.x0, y, "how b and d find their distance: the shift", ui.theme->text, Face::title) +
              ui.px(14);
    const Rect button{x, y - ui.px(10), x + ui.px(26), y + ui.px(10)};
    if (ui.button("play", button, "")) state.playing = !state.playing;
    draw_play_sign(ui, {button.middle_x(), button.middle_y()}, ui.px(9), state.playing, ui.theme->text);
    x = button.x1 + ui.px(6);
    const auto frames = static_cast<Index>(film_.size());
    if (ui.button("frame before", {x, y - ui.px(10), x + ui.px(22), y + ui.px(10)}, "\u2039")) {
        state.frame = (state.frame + frames - 1) % frames;
        state.playing = false;
    }
    x += ui.px(26);
    if (ui.button("frame after", {x, y - ui.px(10), x + ui.px(22), y + ui.px(10)}, "\u203a")) {
        state.frame = (state.frame + 1) % frames;
        state.playing = false;
    }
    x += ui.px(34);
    const FilmFrame& current = film_[static_cast<std::size_t>(state.frame)];
    const std::string leaks = state.frame == 4 ? "; red: a number of the next row has leaked in" : "";
    ui.text_within(x, y, room.x1 - x, std::to_string(state.frame + 1) + "  " + current.what + leaks, ui.theme->muted,
                   Face::label);
    draw_frames(scene, {room.x0, room.y0 + ui.px(26), room.x1, room.y1});
}

void TransformerXlPage::draw_frames(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const auto frames = static_cast<Index>(film_.size());
    Index columns = 0, tallest = 0;
    for (const FilmFrame& frame : film_) {
        columns += frame.columns;
        tallest = std::max(tallest, frame.rows);
    }
    const float words = ui.px(40), arrow = ui.px(34);
    const float by_width =
        (room.width() - words - arrow * static_cast<float>(frames - 1)) / static_cast<float>(columns);
    const float side = std::floor(std::min(by_width, (room.height()) / static_cast<float>(tallest)));
    const float middle = room.y0 + side * static_cast<float>(tallest) / 2;
    const float used = side * static_cast<float>(columns);
    const float between = std::floor((room.width() - words - used) / static_cast<float>(frames - 1));
    float x = room.x0 + words;
    for (Index n = 0; n < frames; ++n) {
        const FilmFrame& frame = film_[static_cast<std::size_t>(n)];
        const float wide = side * static_cast<float>(frame.columns), high = side * static_cast<float>(frame.rows);
        const ImVec2 corner{x, std::floor(middle - high / 2)};
        const Rect box{corner.x, corner.y, corner.x + wide, corner.y + high};
        draw_frame(scene, frame, corner, side);
        if (n == state.frame) ui.outline(box.inset(-ui.px(3), -ui.px(3)), ui.theme->accent, 2, 3);
        if (n == 0)
            for (Index i = 0; i < frame.rows; ++i)
                ui.text(x - ui.px(7), corner.y + (static_cast<float>(i) + 0.5f) * side, kFilmQueries[i],
                        ui.theme->muted, Face::label, Align::right);
        if (ui.touch(("frame" + std::to_string(n)).c_str(), box).clicked) {
            state.frame = n;
            state.playing = false;
        }
        if (n > 0) {
            const float end = x - ui.px(9), from = x - between + ui.px(9);
            ui.draw().line({from, middle}, {end, middle}, ui.theme->muted, ui.px(1.25f));
            draw_arrow_head(ui, {end, middle}, 1, 0, ui.theme->muted, ui.px(1.25f), 5);
        }
        x += wide + between;
    }
}

void TransformerXlPage::draw_frame(const Scene& scene, const FilmFrame& frame, ImVec2 corner, float side) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const bool dark = theme.name != ThemeName::light;
    for (Index r = 0; r < frame.rows; ++r)
        for (Index c = 0; c < frame.columns; ++c) {
            const FilmCell& cell = frame.at(r, c);
            const float x = corner.x + static_cast<float>(c) * side, y = corner.y + static_cast<float>(r) * side;
            const Rect box{x, y, x + side - ui.px(1), y + side - ui.px(1)};
            // One tint per query; which distance it is, the number says.
            const float tint = (dark ? 0.55f : 0.42f) - 0.17f * static_cast<float>(cell.query);
            if (cell.hidden)
                ui.fill(box, to_colour(theme.hidden));
            else if (cell.leaked)
                ui.fill(box, theme.fault);
            else if (cell.padding)
                ui.outline(box, theme.line);
            else
                ui.fill(box, faded(theme.c2p, tint));
            if (cell.hidden)
                for (float s = ui.px(4); s < 2 * side; s += ui.px(5)) {
                    const float from = std::max(0.0f, s - box.width()), to = std::min(box.height(), s);
                    if (from < to)
                        ui.draw().line({x + s - from, y + from}, {x + s - to, y + to}, faded(theme.muted, 0.45f), 1);
                }
            if (cell.hidden || side < ui.px(11)) continue;
            ui.text(box.middle_x(), box.middle_y(), std::to_string(cell.padding ? 0 : cell.distance),
                    cell.leaked    ? theme.on_accent
                    : cell.padding ? theme.muted
                                   : theme.text,
                    Face::mono_tiny, Align::centre);
        }
}

}  // namespace locus
