// The tape of memory and segment with what one query looks at.
#include <algorithm>
#include <cmath>

#include "viewer/pages/transformer_xl/transformer_xl.h"
#include "viewer/plots/number_format.h"

namespace locus {

SegmentTape TransformerXlPage::tape_of(const Rect& room) const {
    return {room.x0, room.x1, answer().longest, answer().memory, answer().length};
}

void TransformerXlPage::draw_tape(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const SegmentTape tape = tape_of(room);
    const Rect words{room.x0, room.y1 - ui.px(66), room.x1, room.y1};
    const float edge = tape.edge(tape.longest - tape.memory), seam = tape.edge(tape.longest);
    const bool reads_on = tape.longest > 0, legible = tape.pitch() >= ui.px(9);
    ui.text(room.x0, room.y0 + ui.px(4),
            reads_on ? "read before, only its memory is left" : "the first segment: nothing was read before",
            ui.theme->muted, Face::label);
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
    ui.fill({edge, words.y0, seam - ui.px(1), words.y1}, ui.theme->chip, 4);
    ui.fill({seam + ui.px(1), words.y0, room.x1, words.y1}, faded(ui.theme->accent, 0.13f), 4);
    for (Index n = 0; n < tape.words(); ++n)
        draw_tape_word(scene, tape, {tape.edge(n), room.y0 + ui.px(16), tape.edge(n + 1), words.y1}, n);
    if (!legible)
        ui.text_within(room.x0 + ui.px(8), words.middle_y(), words.width() - ui.px(16),
                       "\u201c" + query_word(state) + "\u201d looks at \u201c" + word(state.cell.j) + "\u201d; " +
                           std::to_string(tape.words()) + " words are too many to write here",
                       ui.theme->text);
    if (!reads_on) return;
    // The left end of the memory is a handle.
    const Touch handle = ui.touch("handle", {edge - ui.px(7), room.y0 + ui.px(12), edge + ui.px(7), words.y0});
    if (handle.held) state.memory = tape.memory_at(handle.at.x);
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
    const float side = tape.pitch() >= ui.px(4) ? ui.px(1) : 0;
    const Rect box{column.x0 + side, top, column.x1 - side, column.y1};
    if (query || chosen) ui.outline(box, query ? theme.accent : theme.c2p, 2, 3);
    const ImU32 ink = key < 0 ? faded(theme.muted, 0.45f) : query || chosen ? theme.text : faded(theme.text, 0.8f);
    if (tape.pitch() >= ui.px(9))
        ui.text_upwards(column.middle_x(), column.y1 - ui.px(5), ui.cut(word(n), ui.px(58), Face::label), ink,
                        Face::label);
    const Heatmap& probabilities = panels_[5];
    if (key < 0 || n - tape.longest > state.cell.i || probabilities.empty()) return;
    if (key >= probabilities.values().cols() || state.cell.i >= probabilities.values().rows()) return;
    const float probability = probabilities.values()(state.cell.i, key), room = top - column.y0 - ui.px(14);
    const float high = std::floor(room * probability);
    if (!(high >= 1)) return;
    ui.fill({column.x0 + 2 * side, top - ui.px(2) - high, column.x1 - 2 * side, top - ui.px(2)},
            chosen ? theme.c2p : theme.accent);
    // A number on every peak; beside a higher one there is no room for it.
    const auto beside = [&](Index other) {
        return other >= 0 && other < probabilities.values().cols() ? probabilities.values()(state.cell.i, other) : 0.0f;
    };
    if (probability >= 0.095f && probability >= beside(key - 1) && probability >= beside(key + 1))
        ui.text(column.middle_x(), top - ui.px(9) - high,
                probability >= 0.995f ? "1" : fixed(static_cast<double>(probability), 2).substr(1), theme.text,
                Face::mono_tiny, Align::centre);
}

}  // namespace locus
