#include "viewer/plots/stage_triple.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/difference.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

constexpr const char* kTitles[] = {"reference", "the port", "port \u2212 reference"};

/// "sample 1, head 2"; only what there are several of.
std::string place_in_words(const StageMatrices& sheets, const StagePlace& at) {
    std::string words = sheets.samples > 1 ? "sample " + std::to_string(at.sample) : "";
    if (sheets.heads > 1) words += (words.empty() ? "head " : ", head ") + std::to_string(at.head);
    return words;
}

std::string axis_title(const std::string& axis) {
    return axis_in_words(axis) + (axis == "Tq" ? " i" : axis == "Tk" ? " j" : "");
}

}  // namespace

void StageTriple::read(const ReportedCase& one) {
    const std::string files = one.reference.string() + "\n" + one.candidate.string();
    if (read_for_ == files) return;
    read_for_ = files;
    taken_for_.clear();
    reference_.reset();
    candidate_.reset();
    error_.clear();
    if (!one.has_dumps()) {
        error_ = "The report names no files for this case, so there are no numbers to draw.";
        return;
    }
    try {
        reference_ = open_dump(one.reference);
        candidate_ = open_dump(one.candidate);
    } catch (const Error& error) {
        error_ = error.what();
    }
}

void StageTriple::show(const ReportedCase& one, const std::string& stage, ThemeName theme) {
    read(one);
    if (!reference_ || !candidate_) return;
    const std::string wanted = stage + (theme == ThemeName::dark ? " dark" : " other");
    if (taken_for_ == wanted) return;
    taken_for_ = wanted;
    error_.clear();
    const ReportedStage* reported = one.find(stage);
    if (reported) take(*reported, theme);
}

void StageTriple::take(const ReportedStage& reported, ThemeName theme) {
    const Stage* a = reference_->trace.find(reported.name);
    const Stage* b = candidate_->trace.find(reported.name);
    if (!a || !b)
        error_ = "The port did not report this stage.";
    else if (a->shape() != b->shape())
        return take_apart(*a, *b, theme);
    else if (!is_judged_by(reported, *a, *b))
        error_ = "These files were written since the report was, and no longer hold what it judged.";
    if (!error_.empty()) return;
    at_ = place_of(*a, reported.index).value_or(StagePlace{});
    stage_ = reported.name;
    shapes_ = {};
    place_ = place_in_words(matrices_of(*a), at_);
    row_title_ = axis_title(matrices_of(*a).row_axis);
    col_title_ = axis_title(matrices_of(*a).col_axis);
    view_ = {};
    const Matrix<double> right = matrix_of(*a, at_.sample, at_.head), found = matrix_of(*b, at_.sample, at_.head);
    const Matrix<float> values[] = {right.cast<float>(), found.cast<float>(), (found - right).cast<float>()};
    const double high = std::max(symmetric_range(values[0], {}).high, symmetric_range(values[1], {}).high);
    const bool shares = reported.name.ends_with("probs");
    const double most = std::max(probability_range(values[0]).high, probability_range(values[1]).high);
    const ValueRange range = shares ? ValueRange{0, most} : ValueRange{-high, high};
    ++serial_;
    for (std::size_t n = 0; n < 3; ++n)
        heatmaps_[n].show({serial_, 0, theme}, values[n], {},
                          shares && n < 2 ? MapKind::sequential : MapKind::diverging,
                          n < 2 ? std::optional(range) : std::nullopt);
}

void StageTriple::take_apart(const Stage& reference, const Stage& port, ThemeName theme) {
    at_ = {};
    stage_ = reference.name;
    place_.clear();
    shapes_ = {to_string(reference.shape()), to_string(port.shape())};
    row_title_ = axis_title(matrices_of(reference).row_axis);
    col_title_ = axis_title(matrices_of(reference).col_axis);
    view_ = port_view_ = {};
    heatmaps_ = {};
    if (reference.size() == 0 || port.size() == 0) {
        error_ =
            "The port's stage is " + shapes_[1] + ", the reference's " + shapes_[0] + ": there is no cell to draw.";
        return;
    }
    ++serial_;
    for (std::size_t n = 0; n < 2; ++n)
        heatmaps_[n].show({serial_, 0, theme}, matrix_of(n == 0 ? reference : port, 0, 0).cast<float>(), {},
                          MapKind::diverging, std::nullopt);
}

std::vector<NamedMatrix> StageTriple::numbers() const {
    if (!error_.empty() || heatmaps_[0].empty()) return {};
    const Stage *a = reference_->trace.find(stage_), *b = candidate_->trace.find(stage_);
    if (!a || !b) return {};  // another case is shown, and none of its stages
    std::vector<NamedMatrix> matrices = {named_slice("reference", kTitles[0], *a, at_.sample, at_.head),
                                         named_slice("port", kTitles[1], *b, at_.sample, at_.head)};
    if (a->shape() == b->shape()) {
        const Matrix<double> right = matrix_of(*a, at_.sample, at_.head), found = matrix_of(*b, at_.sample, at_.head);
        matrices.push_back(named_matrix("difference", kTitles[2], stage_, Matrix<double>(found - right)));
    }
    for (std::size_t n = 0; n < matrices.size(); ++n) {
        matrices[n].part = place_;
        matrices[n].map = heatmaps_[n].map();
        matrices[n].range = heatmaps_[n].range();
    }
    return matrices;
}

std::optional<std::array<Rect, 3>> StageTriple::arrange(const Ui& ui, const Rect& area) {
    const float title = ui.px(22), legend = ui.px(22), gap = ui.px(18), names = ui.px(18);
    const float left = area.x0 + names, across = area.width() - names, top = area.y0 + title;
    const auto square = [](float x, float y, float side) { return Rect{x, y, x + side, y + side}; };
    const float side = std::floor(std::min((across - 2 * gap) / 3, area.height() - title - legend));
    // Where it is much higher than wide, the difference has the lower half for itself.
    const float half = std::floor((across - gap) / 2), second = top + half + legend + title + ui.px(14);
    const float large = std::floor(std::min(across, area.y1 - legend - second));
    if (large >= half && half > 1.2f * side)
        return std::array{square(left, top, half), square(left + half + gap, top, half), square(left, second, large)};
    if (side < ui.px(40)) return std::nullopt;
    const float pitch = side + std::max(gap, std::min(ui.px(40), (across - 3 * side) / 2));
    return std::array{square(left, top, side), square(left + pitch, top, side), square(left + 2 * pitch, top, side)};
}

void StageTriple::draw(const Ui& ui, const Rect& area) {
    if (!error_.empty() || heatmaps_[0].empty()) {
        ui.paragraph(area.x0, area.y0 + ui.px(6), std::min(area.width(), ui.px(520)), error_, ui.theme->muted);
        return;
    }
    const auto places = arrange(ui, area);
    if (!places) return;
    for (std::size_t n = 0; n < 3; ++n) {
        if (heatmaps_[n].empty()) continue;
        const Rect& cells = (*places)[n];
        const bool beside_next = n < 2 && (*places)[n + 1].y0 == cells.y0;
        draw_one(ui, cells, n, beside_next ? (*places)[n + 1].x0 - ui.px(8) : cells.x1);
        if (cells.x0 == (*places)[0].x0) draw_row_title(ui, cells, cells.x0 - ui.px(11), row_title_);
    }
    if (shapes_[0].empty()) return;
    const Rect& third = (*places)[2];
    ui.paragraph(third.x0, third.y0 + ui.px(6), std::min(third.width(), ui.px(320)),
                 "The port's stage is " + shapes_[1] + ", the reference's " + shapes_[0] +
                     ": no cell of one belongs to a cell of the other, so there is no difference. Shown is the first "
                     "matrix of each.",
                 ui.theme->muted);
}

void StageTriple::draw_one(const Ui& ui, const Rect& cells, std::size_t n, float limit) {
    Heatmap& heatmap = heatmaps_[n];
    const bool apart = !shapes_[0].empty();
    const float title = cells.y0 - ui.px(12);
    const float end = cells.x0 + ui.text(cells.x0, title, kTitles[n], ui.theme->text, Face::title);
    const std::string& beside = apart ? shapes_[n] : place_;
    if (n == 0 || apart) {
        const float x = std::max(cells.x1 - ui.text_width(beside, Face::mono_small), end + ui.px(8));
        ui.text_within(x, title, limit - x, beside, ui.theme->muted, Face::mono_small);
    }
    bool clicked = false;
    const Index rows = heatmap.values().rows(), cols = heatmap.values().cols();
    MatrixView& view = apart && n == 1 ? port_view_ : view_;
    const auto cell = explore(ui, kTitles[n], cells, rows, cols, view, clicked);
    heatmap.draw(ui, cells, view);
    if (!apart) heatmap.draw_crosshair(ui, cells, view, at_.cell);
    const bool is_known = !apart || n == 0;  // what the axes of another shape are, nobody knows
    const float title_beside = is_known ? ui.text_width(col_title_, Face::label) + ui.px(8) : 0;
    const float end_of_legend = heatmap.draw_legend(ui, cells.x0, cells.y1 + ui.px(11), cells.x1 - title_beside);
    if (is_known)
        ui.text(std::max(cells.x1, end_of_legend + title_beside), cells.y1 + ui.px(11), col_title_, ui.theme->muted,
                Face::label, Align::right);
    if (cell)
        draw_tooltip(ui, {{{"row " + std::to_string(cell->i) + "  column " + std::to_string(cell->j), ui.theme->muted,
                            Face::mono_small}},
                          {{std::string(kTitles[n]) + "  ", ui.theme->muted},
                           {precise(heatmap.values()(cell->i, cell->j)), ui.theme->text, Face::mono}}});
}

}  // namespace locus
