// Where A and B come from, which stage of them is shown, and in one line what came of it.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/characters.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/popup.h"
#include "viewer/ui/report_view.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

std::string file_name(const std::string& file) { return std::filesystem::path(file).filename().string(); }

std::string source_in_words(const CompareState& state, std::size_t side) {
    const CompareSide& source = side == 0 ? state.a : state.b;
    if (state.report) return side == 0 ? "reference" : "your port";
    if (!source.file.empty()) return file_name(source.file);
    const std::string formulas = source.mistake.empty() ? to_string(source.dialect) : "mistake " + source.mistake;
    return formulas + (source.exact ? ", f64" : ", f32");
}

}  // namespace

float ComparePage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const float y = bar.middle_y();
    shows_tokens_ = !state.report && (state.a.file.empty() || state.b.file.empty());
    float x = bar.x1 - ui.px(16);
    const bool sheets = has_sides(scene);
    if (sheets && matrices_.heads > 1 && !state.from_model()) {
        x = ui.stepper("head", x, y, std::to_string(state.head), state.head, 0, matrices_.heads - 1) - ui.px(6);
        x -= ui.text(x, y, "head", ui.theme->muted, Face::ui, Align::right) + ui.px(12);
    }
    if (sheets && matrices_.samples > 1) {
        x = ui.stepper("sample", x, y, std::to_string(state.sample), state.sample, 0, matrices_.samples - 1) - ui.px(6);
        x -= ui.text(x, y, "sample", ui.theme->muted, Face::ui, Align::right) + ui.px(12);
    }
    x = draw_stage_picker(scene, x, y);
    return state.report ? draw_case_picker(scene, bar, x) : x;
}

float ComparePage::draw_stage_picker(Scene& scene, float right, float y) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const std::string label = ui.cut(state.stage.empty() ? "no stage" : state.stage, ui.px(200), Face::mono);
    const float wide = ui.text_width(label, Face::mono) + ui.px(34);
    const Rect box{right - wide, y - ui.px(13), right, y + ui.px(13)};
    const Touch mouse = ui.touch("stage", box);
    if (mouse.clicked) ImGui::OpenPopup("stages");
    ui.fill(box, mouse.hovered ? ui.theme->chip : ui.theme->panel, 5);
    ui.outline(box, ui.theme->line, 1, 5);
    ui.text(box.x0 + ui.px(10), y, label, ui.theme->text, Face::mono);
    const float tip = box.x1 - ui.px(14);
    ui.draw().triangle({tip - ui.px(4), y - ui.px(2)}, {tip + ui.px(4), y - ui.px(2)}, {tip, y + ui.px(3)},
                       ui.theme->muted);
    draw_popup(ui, "stages", box, ui.px(320), Face::mono, [&] {
        for (const std::string& name : stages_) {
            if (ImGui::Selectable((name + "##stage").c_str(), name == state.stage)) state.open_stage(name);
            if (name == state.stage && ImGui::IsWindowAppearing()) ImGui::SetScrollHereY();
        }
    });
    return box.x0 - ui.px(8) - ui.text(box.x0 - ui.px(8), y, "stage", ui.theme->muted, Face::ui, Align::right);
}

float ComparePage::draw_case_picker(Scene& scene, const Rect& bar, float right) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    const float y = bar.middle_y();
    float x = bar.x0 + ui.px(16);
    x += ui.text(x, y, file_name(state.report->file.string()), ui.theme->text, Face::title) + ui.px(14);
    const auto count = static_cast<Index>(state.report->cases.size());
    const ReportedCase& one = *state.reported();
    if (count > 1) {
        x += ui.text(x, y, "case", ui.theme->muted) + ui.px(8);
        Index chosen = static_cast<Index>(state.shown_case);
        const std::string label = std::to_string(chosen + 1) + " of " + std::to_string(count);
        const float wide = std::max(ui.px(20), ui.text_width(label, Face::mono) + ui.px(4)) + ui.px(40);
        ui.stepper("case", x + wide, y, label, chosen, 0, count - 1);
        x += wide + ui.px(10);
        if (chosen != static_cast<Index>(state.shown_case)) state.open_case(static_cast<std::size_t>(chosen));
    }
    const std::string name = one.id.empty() ? file_name(one.candidate.string()) : one.id;
    ui.text_within(x, y, right - ui.px(20) - x, name, ui.theme->text, Face::mono);
    return right;
}

void ComparePage::draw_headline(const Scene& scene, const Rect& area) const {
    const Ui& ui = scene.ui;
    const CompareState& state = scene.state.compare;
    const float x = area.x0 + ui.px(16), y = area.y0 + ui.px(20), wide = area.width() - ui.px(32);
    const Index passed = state.report ? state.reported()->count(StageState::pass) : 0;
    const bool passes = state.report && state.report->pass && passed > 0 && !(has_sides(scene) && outdated_);
    if (passes) {
        ui.text_within(x, y, wide,
                       "Everything passes: " + std::to_string(passed) +
                           " stages of this case, no value outside what "
                           "rounding explains.",
                       ui.theme->text, Face::title);
    }
    if (!has_sides(scene)) {
        const ReportedCase* one = state.reported();
        const std::string why =
            !scene.answer->compare.error.empty() ? scene.answer->compare.error
            : one && !one->refusal.empty()       ? one->refusal
            : one && one->verdict == "not reported"
                ? "The port reported no stage of this case."
                : "The report names no dump files of this case, so there are no values to show; what "
                  "it says is at the right.";
        ui.paragraph(x, y + ui.px(18), std::min(wide, ui.px(640)), why, ui.theme->text);
        return;
    }
    if (passes) return;
    std::string line;
    if (outdated_)
        line = "These are not the values that the report judged: a file was written since. Check again.";
    else if (scene.answer->compare.mistake_b && scene.answer->compare.mistake_b->first.empty())
        line = "Mistake " + state.b.mistake + " changes nothing with this model and sentence.";
    else if (here_.largest == 0 && here_.not_finite == 0)
        line = "A and B are equal here, to the last bit.";
    else if (here_.outside == 0)
        line = "A and B agree here: no cell differs by more than rounding explains.";
    else
        line = headline_of_gaps();
    ui.text_within(x, y, wide, line, ui.theme->text, Face::title);
}

/// Where cells are outside: those that are no numbers are told from those that are farther apart.
std::string ComparePage::headline_of_gaps() const {
    const Index apart = here_.outside - here_.not_finite;
    const std::string all = grouped(here_.cells);
    if (here_.alike == here_.cells) return "No cell is a number, in A and in B alike: there is nothing to subtract.";
    if (here_.alike == here_.not_finite && apart == 0)
        return grouped(here_.alike) + " of " + all +
               " cells are NaN or infinite in A and B alike; all others agree within rounding.";
    if (here_.not_finite == here_.cells) return "Every cell is NaN or infinite in A or in B.";
    if (apart == 0)
        return grouped(here_.not_finite) + " of " + all +
               " cells are NaN or infinite in A or B; all others agree within rounding.";
    return (where_.empty() ? std::string("A and B differ") : capital(where_)) + ": " + grouped(apart) + " of " + all +
           " cells are farther apart than rounding explains" +
           (here_.not_finite == 0 ? "." : ", " + grouped(here_.not_finite) + " are NaN or infinite.");
}

void ComparePage::draw_source(Scene& scene, const Rect& cells, const Layout& layout, std::size_t side) {
    const Ui& ui = scene.ui;
    const CompareState& state = scene.state.compare;
    const CompareSide& source = side == 0 ? state.a : state.b;
    const float y = layout.title_of(cells);
    const float end = cells.x0 + ui.text(cells.x0, y, side == 0 ? "A" : "B", ui.theme->text, Face::title);
    const bool names_file = !source.file.empty() && state.report;
    const std::string words = source_in_words(state, side) + (names_file ? " \u00b7 " + file_name(source.file) : "");
    ui.text_within(cells.x1, y, cells.x1 - end - ui.px(10), words, ui.theme->muted, Face::mono_small, Align::right);
}

void ComparePage::draw_verdict(const Scene& scene, const Rect& cells, const Layout& layout) const {
    const Ui& ui = scene.ui;
    ui.text(cells.x0, layout.title_of(cells), "B \u2212 A", ui.theme->text, Face::title);
    ui.text(cells.x1, layout.title_of(cells), "blue: B is smaller", ui.theme->muted, Face::mono_small, Align::right);
}

// How rows, columns, cells and values are called.

namespace {

/// "cat / dog" where two sentences of one length differ.
std::vector<std::string> words_of_both(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    if (a.size() != b.size()) return {};
    std::vector<std::string> words = a;
    for (std::size_t n = 0; n < a.size(); ++n)
        if (a[n] != b[n]) words[n] += " / " + b[n];
    return words;
}

}  // namespace

std::vector<std::string> ComparePage::words_of_tokens(const Scene& scene) const {
    const CompareState& state = scene.state.compare;
    const CompareAnswer& compared = scene.answer->compare;
    if (state.from_model())
        return state.has_own_words() ? words_of_both(compared.words_a, compared.words_b) : scene.answer->labels;
    const auto sample = static_cast<std::size_t>(state.sample);
    const std::vector<std::string> of_dump =
        sample < compared.tokens.size() ? compared.tokens[sample] : std::vector<std::string>();
    // A dump beside a pass is held against the tokens of the pass, whatever the dump says of its own.
    const std::vector<std::string>& of_pass = compared.words_a.empty() ? compared.words_b : compared.words_a;
    if (!of_pass.empty()) return compared.tokens_in_words ? words_of_both(of_pass, of_dump) : of_pass;
    if (!state.report) return of_dump;
    const std::vector<std::string>& reported = state.reported()->tokens;
    // The report's are those of the sample with the worst cell: of one sample alone there is no doubt which that is.
    const bool says_more =
        !compared.tokens_in_words && compared.tokens.size() == 1 && reported.size() == of_dump.size();
    return of_dump.empty() || says_more ? reported : of_dump;
}

void ComparePage::name_axes(const Scene& scene) {
    const std::vector<std::string> words = words_of_tokens(scene);
    const auto fits = [&](const std::string& axis, Index count) {
        return counts_tokens(axis) && static_cast<Index>(words.size()) == count;
    };
    row_words_ = fits(matrices_.row_axis, matrices_.rows) ? words : std::vector<std::string>();
    column_words_ = fits(matrices_.col_axis, matrices_.cols) ? words : std::vector<std::string>();
}

std::string ComparePage::column_axis() const {
    return axis_in_words(matrices_.col_axis) + (matrices_.col_axis == "Tk" ? " j" : "");
}

std::string ComparePage::row_name(Index i) const {
    return row_words_.empty() ? std::to_string(i) : row_words_[static_cast<std::size_t>(i)];
}

std::string ComparePage::column_name(Index j) const {
    return column_words_.empty() ? std::to_string(j) : column_words_[static_cast<std::size_t>(j)];
}

std::string ComparePage::place_in_words(Cell cell) const {
    const auto named = [](const std::string& axis, const std::vector<std::string>& words, Index at) {
        const std::string place = axis_in_words(axis) + " " + std::to_string(at);
        return words.empty() ? place : place + " (" + words[static_cast<std::size_t>(at)] + ")";
    };
    const std::string column = named(matrices_.col_axis, column_words_, cell.j);
    return matrices_.row_axis.empty() ? column : named(matrices_.row_axis, row_words_, cell.i) + ", " + column;
}

std::string ComparePage::value_text(double value) const {
    if (whole_numbers_ && value == std::floor(value)) return whole(static_cast<std::int64_t>(value));
    const double size = std::abs(value);
    return size != 0 && (size >= 1e5 || size < 1e-3) ? brief(value) : fixed(value, 4);
}

// The column at the right: what a report says, the cell, and all cells in numbers.

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
    Rect area = whole;
    if (!state.report) {
        std::size_t shown = state.shows_mistakes ? 1 : 0;
        ui.choice("column", whole.x0 + ui.px(16), whole.y0 + ui.px(24), {"numbers", "mistakes"}, shown);
        ui.text(whole.x1 - ui.px(16), whole.y0 + ui.px(24), "z", ui.theme->muted, Face::mono_small, Align::right);
        state.shows_mistakes = shown == 1;
        area.y0 += ui.px(46);
        if (state.shows_mistakes) return draw_mistakes(scene, area);
    }
    const Ui::Scrolled scrolled(ui);
    SideColumn column(ui, area, side_scroll_);
    if (scene.state.compare.report) draw_report_words(scene, column);
    if (has_sides(scene) && a_.size() > 0) {
        draw_cell_words(scene, column);
        draw_statistics(scene, column);
        if (!scene.state.compare.report) draw_what_to_see(scene, column);
    }
    scroll_column(ui, column, area, side_scroll_);
}

void ComparePage::draw_what_to_see(Scene& scene, SideColumn& column) const {
    const CompareState& state = scene.state.compare;
    column.rule();
    if (is_p2c_of_paper(state))
        column.sentence(layer_of(state.stage) == 0 ? "The paper prints p2c with row \u03b4(j, i); the authors' code "
                                                     "reads row \u03b4(i, j), as for c2p. In every "
                                                     "column what is above the diagonal and below it changes "
                                                     "places; on the diagonal both rows are one."
                                                   : "The paper prints p2c with row \u03b4(j, i), the authors' code "
                                                     "reads row \u03b4(i, j). Here the layers below "
                                                     "differ already; in layer 0 it is this alone.");
    else
        column.sentence("N jumps to the next worst cell. Both pictures share one scale; the difference has its own.");
    draw_lesson_links(scene, column, {{"09", "The sign of p2c"}, {"28", "Port clinic"}});
}

void ComparePage::draw_report_words(Scene& scene, SideColumn& column) const {
    CompareState& state = scene.state.compare;
    const std::string clicked = draw_report_verdict(scene, column, *state.report, *state.reported(), state.stage);
    if (!clicked.empty()) state.open_stage(clicked);
}

void ComparePage::draw_cell_words(Scene& scene, SideColumn& column) const {
    const Cell cell = cursor(scene.state);
    const double a = a_(cell.i, cell.j), b = b_(cell.i, cell.j);
    const std::string place = "(" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")";
    column.heading("This cell", locked(scene.state) ? "locked " + place : place);
    column.sentence(place_in_words(cell), false);
    scene.ui.note("compare/a", a);
    scene.ui.note("compare/b", b);
    scene.ui.note("compare/difference", b - a);
    column.row("A", value_text(a));
    column.row("B", value_text(b));
    column.row("B \u2212 A", value_text(b - a), true);
    column.row("float32 steps (ULP)", steps_text(ulp_distance(static_cast<float>(a), static_cast<float>(b))));
    column.rule();
}

void ComparePage::draw_statistics(Scene& scene, SideColumn& column) const {
    const CompareState& state = scene.state.compare;
    const bool many = matrices_.heads * matrices_.samples > 1;
    column.heading("|B \u2212 A| of all " + grouped(here_.cells) + " cells",
                   !many                  ? ""
                   : matrices_.heads == 1 ? "sample " + std::to_string(state.sample)
                                          : "head " + std::to_string(std::min(state.head, matrices_.heads - 1)));
    scene.ui.note("compare/largest", here_.largest);
    scene.ui.note("compare/mean", here_.mean);
    scene.ui.note("compare/p99", here_.p99);
    scene.ui.note("compare/cosine", here_.cosine);
    scene.ui.note("compare/outside", static_cast<double>(here_.outside));
    column.row(here_.not_finite > 0 ? "largest of the numbers" : "largest", value_text(here_.largest));
    column.row("mean", value_text(here_.mean));
    column.row("99 % are below (p99)", value_text(here_.p99));
    column.row("cosine of A and B", fixed(here_.cosine, 6));
    column.row("most float32 steps (ULP)", steps_text(here_.ulp));
    column.row("outside the tolerance", grouped(here_.outside) + " of " + grouped(here_.cells));
    if (many) column.row("in the whole stage", grouped(whole_.outside) + " of " + grouped(whole_.cells));
    if (here_.not_finite > 0) column.row("NaN or infinite (crossed)", grouped(here_.not_finite));
}

void ComparePage::draw_formula(Scene& scene, const Rect& bar) {
    if (!has_sides(scene) || a_.size() == 0) return;
    const Ui& ui = scene.ui;
    const Cell cell = cursor(scene.state);
    const double a = a_(cell.i, cell.j), b = b_(cell.i, cell.j);
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const std::string at = std::to_string(cell.i) + "," + std::to_string(cell.j);
    const std::string stage = ui.cut(scene.answer->compare.stage, ui.px(220), Face::formula);
    const bool outside = !(std::abs(a - b) <= allowed_);
    const float x = bar.x0 + ui.px(16);
    const float end = ui.spans(x, bar.middle_y(),
                               {plain(stage),
                                {at, ui.theme->text, Face::mono_tiny, -4},
                                plain("   B \u2212 A = " + value_text(b) + " \u2212 " +
                                      (a < 0 ? "(" + value_text(a) + ")" : value_text(a)) + " = " + value_text(b - a)),
                                {!std::isfinite(b - a) ? "   no number"
                                 : outside             ? "   > "
                                                       : "   \u2264 ",
                                 outside ? ui.theme->fault : ui.theme->muted, Face::formula},
                                {std::isfinite(b - a) ? brief(allowed_) : "", ui.theme->muted, Face::formula}});
    draw_bar_note(scene, bar, "N: next worst cell", x + end);
}

}  // namespace locus
