// The pair in words: its offset, its bucket, its row, and who shares it.
#include <algorithm>
#include <cmath>

#include "viewer/pages/positions/positions.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/formula_bar.h"
#include "viewer/ui/lesson_links.h"
#include "viewer/ui/side_column.h"

namespace locus {

void PositionsPage::draw_side(Scene& scene, const Rect& room) {
    refresh(scene);
    const PositionsState& state = scene.state.positions;
    const Cell cell = state.cell;
    const Index offset = cell.i - cell.j, row = line_->row(cell.i, cell.j), span = line_->span();
    const Part part = part_of(state, offset);
    SideColumn column(scene.ui, room);
    column.heading("Why row " + std::to_string(row) + "?", std::string(state.locked ? "locked " : "") + "(" +
                                                               std::to_string(cell.i) + ", " + std::to_string(cell.j) +
                                                               ")");
    const std::string where = offset == 0 ? "Token " + std::to_string(cell.i) + " looks at itself."
                                          : "Token " + std::to_string(cell.i) + " looks at token " +
                                                std::to_string(cell.j) + ", " + direction(offset) + ".";
    column.sentence(where, false);
    column.row("i \u2212 j", whole(offset));
    if (state.kind == 0) {
        column.row("clamped to \u2212" + std::to_string(span) + " \u2026 " + std::to_string(span - 1),
                   whole(row - span));
    } else {
        const Index farthest = static_cast<Index>(state.farthest) - 1;
        if (clamp_of(scene.state) == OffsetClamp::official)
            column.row("clamped to \u00b1(M \u2212 1) = \u00b1" + std::to_string(farthest),
                       whole(std::clamp(offset, -farthest, farthest)));
        column.row(part == Part::itself ? "bucket (|i\u2212j| \u2264 " + std::to_string(mid(state)) + ": itself)"
                                        : "bucket (logarithm beyond " + std::to_string(mid(state)) + ")",
                   whole(log_bucket(offset, span, static_cast<Index>(state.farthest), clamp_of(scene.state))));
    }
    column.row("+ k = " + std::to_string(span) + " \u2192 row", std::to_string(row), true);
    column.rule();

    Index sharing = 0, pairs = 0;
    const auto length = static_cast<Index>(state.length);
    for (Index o = 1 - length; o < length; ++o)
        if (line_->row_of_offset(o) == row) {
            ++sharing;
            pairs += length - std::abs(o);
        }
    const auto note = [&](const char* id, Index value) { scene.ui.note(id, static_cast<double>(value)); };
    note("positions/offset", offset);
    note("positions/row", row);
    note("positions/sharing", sharing);
    note("positions/pairs", pairs);
    column.heading("Who shares row " + std::to_string(row) + "?", "of " + std::to_string(2 * span));
    column.row("offsets", std::to_string(sharing));
    column.row("pairs of tokens", std::to_string(pairs));
    column.sentence(part == Part::itself ? "Near tokens have a row for every offset: the model tells them all apart."
                    : part == Part::logarithm
                        ? "Far tokens share rows, and the farther the more: roughly where is enough."
                        : "Beyond the edge every offset gets the same row: farther looks no different.");
    column.rule();
    column.heading("One line is enough", std::to_string(2 * length - 1) + " numbers");
    column.sentence("Every diagonal holds one value, so " + grouped(length * length) + " cells are " +
                    std::to_string(2 * length - 1) + " offsets, cut into " + std::to_string(line_->runs().size()) +
                    " runs that are flat or rise by one. The position terms add whole runs; nothing is gathered.");
    if (state.kind == 1)
        column.sentence(
            clamp_of(scene.state) == OffsetClamp::hf
                ? "hf: offsets beyond M are not clamped first; only the row is, so far keys at the right use row 0."
                : "official: offsets are clamped to \u00b1(M \u2212 1) first, so row 0 is never used. Choose hf to see "
                  "the other.");
    draw_lesson_links(scene, column, room,
                      {{"05", "Relative position matrix"}, {"06", "Log buckets"}, {"07", "Gather by hand"}});
}

void PositionsPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const Index offset = state.cell.i - state.cell.j, row = line_->row(state.cell.i, state.cell.j);
    const std::string span = std::to_string(line_->span());
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const std::string inner =
        state.kind == 0 ? whole(offset) + " + " + span : "bucket(" + whole(offset) + ") + " + span;
    const float x = bar.x0 + ui.px(16);
    const float end =
        ui.spans(x, bar.middle_y(),
                 {plain("\u03b4(" + std::to_string(state.cell.i) + ", " + std::to_string(state.cell.j) + ") = clamp( "),
                  {inner, ui.theme->c2p, Face::formula},
                  plain(", 0, 2k \u2212 1 ) = " + std::to_string(row))});
    draw_bar_note(scene, bar, "the same table serves every layer and every head", x + end);
}

}  // namespace locus
