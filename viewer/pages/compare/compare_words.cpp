// The column at the right: what a report says, the cell, and all cells in numbers.
#include <algorithm>
#include <cmath>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/formula_bar.h"
#include "viewer/ui/lesson_links.h"
#include "viewer/ui/report_words.h"

namespace locus {

namespace {

bool is_p2c_of_paper(const CompareState& state) {
    const bool paper_a = state.a.dialect == Dialect::paper, paper_b = state.b.dialect == Dialect::paper;
    return state.from_model() && paper_a != paper_b && state.stage.ends_with(".p2c");
}

}  // namespace

void ComparePage::draw_side(Scene& scene, const Rect& whole) {
    if (!scene.answer) return;
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    Rect room = whole;
    if (!state.report) {
        std::size_t shown = state.zoo ? 1 : 0;
        ui.choice("column", whole.x0 + ui.px(16), whole.y0 + ui.px(24), {"numbers", "bug zoo"}, shown);
        ui.text(whole.x1 - ui.px(16), whole.y0 + ui.px(24), "Z", ui.theme->muted, Face::mono_small, Align::right);
        state.zoo = shown == 1;
        room.y0 += ui.px(46);
        if (state.zoo) return draw_zoo(scene, room);
    }
    const Touch mouse = ui.touch("words", room);
    if (mouse.hovered) side_scroll_ -= ImGui::GetIO().MouseWheel * ui.px(48);
    SideColumn column(ui, room, side_scroll_);
    if (scene.state.compare.report) draw_report_words(scene, column);
    if (ready(scene) && a_.size() > 0) {
        draw_cell_words(scene, column);
        draw_statistics(scene, column);
        if (!scene.state.compare.report) draw_what_to_see(scene, column, room);
    }
    const float over = column.y() + side_scroll_ - ui.px(8) - room.y1;
    side_scroll_ = std::clamp(side_scroll_, 0.0f, std::max(0.0f, over));
}

void ComparePage::draw_what_to_see(Scene& scene, SideColumn& column, const Rect& room) const {
    const CompareState& state = scene.state.compare;
    column.rule();
    if (is_p2c_of_paper(state))
        column.sentence(layer_of(state.stage) == 0 ? "The paper prints p2c with row \u03b4(j, i); the authors' code "
                                                     "reads row \u03b4(i, j), as for c2p. In every "
                                                     "column what stands above the diagonal and below it changes "
                                                     "places; on the diagonal both rows are one."
                                                   : "The paper prints p2c with row \u03b4(j, i), the authors' code "
                                                     "reads row \u03b4(i, j). Here the layers below "
                                                     "differ already; in layer 0 it is this alone.");
    else
        column.sentence("N jumps to the next worst cell. Both pictures share one scale; the difference has its own.");
    draw_lesson_links(scene, column, room, {{"09", "The sign of p2c"}, {"28", "Port clinic"}});
}

void ComparePage::draw_report_words(Scene& scene, SideColumn& column) const {
    const CompareState& state = scene.state.compare;
    draw_report_verdict(scene, column, *state.report, *state.reported(), state.stage);
}

void ComparePage::draw_cell_words(Scene& scene, SideColumn& column) const {
    const Cell cell = cursor(scene.state);
    const double a = a_(cell.i, cell.j), b = b_(cell.i, cell.j);
    const std::string place = "(" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")";
    column.heading("This cell", locked(scene.state) ? "locked " + place : place);
    column.sentence(place_in_words(cell), false);
    scene.ui.note("compare/a", a);
    scene.ui.note("compare/b", b);
    scene.ui.note("compare/difference", a - b);
    column.row("A", value_text(a));
    column.row("B", value_text(b));
    column.row("A \u2212 B", value_text(a - b), true);
    column.row("steps of float32 between them", brief(ulp_distance(static_cast<float>(a), static_cast<float>(b))));
    column.rule();
}

void ComparePage::draw_statistics(Scene& scene, SideColumn& column) const {
    const CompareState& state = scene.state.compare;
    const bool many = sheets_.heads * sheets_.samples > 1;
    column.heading("|A \u2212 B| of all " + grouped(here_.cells) + " cells",
                   !many                ? ""
                   : sheets_.heads == 1 ? "sample " + std::to_string(state.sample)
                                        : "head " + std::to_string(std::min(state.head, sheets_.heads - 1)));
    scene.ui.note("compare/largest", here_.largest);
    scene.ui.note("compare/mean", here_.mean);
    scene.ui.note("compare/p99", here_.p99);
    scene.ui.note("compare/cosine", here_.cosine);
    scene.ui.note("compare/outside", static_cast<double>(here_.outside));
    column.row("largest", value_text(here_.largest));
    column.row("mean", value_text(here_.mean));
    column.row("99 % are below (p99)", value_text(here_.p99));
    column.row("cosine of A and B", fixed(here_.cosine, 6));
    column.row("most float32 steps (ULP)", brief(here_.ulp));
    column.row("outside the tolerance", grouped(here_.outside) + " of " + grouped(here_.cells));
    if (many) column.row("in the whole stage", grouped(whole_.outside) + " of " + grouped(whole_.cells));
    if (here_.not_finite > 0) column.row("NaN or infinite (crossed)", grouped(here_.not_finite));
}

void ComparePage::draw_formula(Scene& scene, const Rect& bar) {
    if (!ready(scene) || a_.size() == 0) return;
    const Ui& ui = scene.ui;
    const Cell cell = cursor(scene.state);
    const double a = a_(cell.i, cell.j), b = b_(cell.i, cell.j);
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const std::string at = std::to_string(cell.i) + "," + std::to_string(cell.j);
    const std::string stage = ui.cut(scene.answer->compare.stage, ui.px(220), Face::formula);
    const bool outside = !(std::abs(a - b) <= allowed_);
    const float x = bar.x0 + ui.px(16);
    const float end =
        ui.spans(x, bar.middle_y(),
                 {plain(stage),
                  {at, ui.theme->text, Face::mono_tiny, -4},
                  plain("   A \u2212 B = " + value_text(a) + " \u2212 " +
                        (b < 0 ? "(" + value_text(b) + ")" : value_text(b)) + " = " + value_text(a - b)),
                  {outside ? "   > " : "   \u2264 ", outside ? ui.theme->fault : ui.theme->muted, Face::formula},
                  {brief(allowed_), ui.theme->muted, Face::formula}});
    draw_bar_note(scene, bar, "N: next worst cell", x + end);
}

}  // namespace locus
