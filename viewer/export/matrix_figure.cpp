#include "viewer/export/matrix_figure.h"

#include <algorithm>
#include <cmath>

namespace locus {

namespace {

constexpr float kPad = 16, kTitle = 44, kLegend = 26, kLongestLabel = 120, kSide = 760, kReadable = 30;

Matrix<float> as_floats(const NamedMatrix& matrix) {
    Matrix<float> values(matrix.height(), matrix.width());
    for (Index n = 0; n < values.size(); ++n) values.data()[n] = static_cast<float>(matrix.stage.at(n));
    return values;
}

std::string label(const std::vector<std::string>& labels, Index at) {
    return labels.empty() ? std::to_string(at) : labels.at(static_cast<std::size_t>(at));
}

/// Labels that are as far apart as letters are high.
Index step_of(float cell) { return std::max<Index>(1, static_cast<Index>(std::ceil(13 / cell))); }

}  // namespace

MatrixFigure::MatrixFigure(const NamedMatrix& matrix, ThemeName theme) : matrix_(matrix) {
    heatmap_.show({1, 0, theme}, as_floats(matrix), matrix.visible, matrix.map, matrix.range);
}

std::string MatrixFigure::caption() const {
    return matrix_.stage.name + (matrix_.part.empty() ? "" : " \u00b7 " + matrix_.part);
}

float MatrixFigure::widest(const Ui& ui, const std::vector<std::string>& labels, Index count) const {
    float widest = ui.text_width(std::to_string(count), Face::label);
    for (const std::string& each : labels) widest = std::max(widest, ui.text_width(each, Face::label));
    return std::min(widest / ui.px(1), kLongestLabel);
}

MatrixFigure::Layout MatrixFigure::arrange(const Ui& ui) const {
    const Index longest = std::max(matrix_.height(), matrix_.width());
    const float fitting = kSide / static_cast<float>(longest);
    const float cell = fitting >= kReadable ? kReadable : fitting >= 1 ? std::floor(fitting) : fitting;
    Layout layout{kPad + widest(ui, matrix_.rows, matrix_.height()) + 8,
                  kPad + kTitle + widest(ui, matrix_.cols, matrix_.width()) + 8, cell, cell};
    layout.cell_wide = std::max(cell, std::min(cell * 4, 120 / static_cast<float>(matrix_.width())));
    layout.cell_high = std::max(cell, std::min(16.0f, 120 / static_cast<float>(matrix_.height())));
    return {std::ceil(layout.left), std::ceil(layout.top), layout.cell_wide, layout.cell_high};
}

ImVec2 MatrixFigure::size(const Ui& ui) const {
    const Layout layout = arrange(ui);
    const float words =
        std::max(ui.text_width(matrix_.title, Face::title), ui.text_width(caption(), Face::mono_small)) / ui.px(1);
    const float wide = layout.left + layout.cell_wide * static_cast<float>(matrix_.width());
    return {std::ceil(std::max({wide, layout.left + words, layout.left + 170}) + kPad),
            std::ceil(layout.top + layout.cell_high * static_cast<float>(matrix_.height()) + kLegend + kPad / 2)};
}

void MatrixFigure::draw(const Ui& ui) const {
    const Layout layout = arrange(ui);
    const float left = ui.px(layout.left), top = ui.px(layout.top);
    const Rect cells{left, top, left + layout.cell_wide * static_cast<float>(matrix_.width()) * ui.px(1),
                     top + layout.cell_high * static_cast<float>(matrix_.height()) * ui.px(1)};
    ui.text(left, ui.px(kPad + 6), matrix_.title, ui.theme->text, Face::title);
    ui.text(left, ui.px(kPad + 26), caption(), ui.theme->muted, Face::mono_small);
    heatmap_.draw(ui, cells);
    heatmap_.draw_legend(ui, cells.x0, cells.y1 + ui.px(14));
    draw_labels(ui, layout);
}

void MatrixFigure::draw_labels(const Ui& ui, const Layout& layout) const {
    const float left = ui.px(layout.left), top = ui.px(layout.top), unit = ui.px(1);
    const auto middle = [&](float from, float cell, Index n) {
        return from + (static_cast<float>(n) + 0.5f) * cell * unit;
    };
    for (Index i = 0; i < matrix_.height(); i += step_of(layout.cell_high))
        ui.text_within(left - ui.px(6), middle(top, layout.cell_high, i), ui.px(kLongestLabel), label(matrix_.rows, i),
                       ui.theme->muted, Face::label, Align::right);
    for (Index j = 0; j < matrix_.width(); j += step_of(layout.cell_wide))
        ui.text_upwards(middle(left, layout.cell_wide, j), top - ui.px(6),
                        ui.cut(label(matrix_.cols, j), ui.px(kLongestLabel), Face::label), ui.theme->muted,
                        Face::label);
}

namespace {

constexpr Index kMostShapes = 1024;

struct Stretch {
    Index first = 0, count = 0;
};

/// Cells of a side that are at least partly between two shares of it.
Stretch touched(float from, float to, Index count) {
    const auto all = static_cast<double>(count);
    constexpr double kSlack = 1e-4;  // shares are floats
    const auto first = std::clamp<Index>(static_cast<Index>(std::floor(from * all + kSlack)), 0, count - 1);
    const auto last = std::clamp<Index>(static_cast<Index>(std::ceil(to * all - kSlack)), first + 1, count);
    return {first, last - first};
}

}  // namespace

CellPicture cells_of(const ImageMark& image, ThemeName theme) {
    if (!image.source) return {};
    const Heatmap& heatmap = *static_cast<const Heatmap*>(image.source);
    const Index rows = heatmap.values().rows(), cols = heatmap.values().cols();
    const Stretch y = touched(image.uv_min.y, image.uv_max.y, rows), x = touched(image.uv_min.x, image.uv_max.x, cols);
    Mask visible(y.count, x.count);
    for (Index i = 0; i < y.count; ++i)
        for (Index j = 0; j < x.count; ++j) visible(i, j) = !heatmap.hidden(y.first + i, x.first + j);
    const Matrix<float> values = heatmap.values().block(y.first, x.first, y.count, x.count);
    Pyramid pyramid{SharedMatrix(values), visible, Pooling::largest};
    Detail detail;
    while (y.count >> detail.rows > kMostShapes) ++detail.rows;
    while (x.count >> detail.cols > kMostShapes) ++detail.cols;
    const bool whole = detail == Detail{};
    const Mask& hidden = whole ? pyramid.hidden() : pyramid.level(detail).hidden;
    const Matrix<float> level = whole ? values : pyramid.level(detail).values;
    CellPicture picture;
    picture.cells = paint(level, hidden, {0, 0, level.rows(), level.cols()}, ColourMap::of_theme(heatmap.map(), theme),
                          heatmap.range(), theme_of(theme).hidden);
    const double per_x = picture.cells.width / static_cast<double>(x.count);
    const double per_y = picture.cells.height / static_cast<double>(y.count);
    picture.first_x = (image.uv_min.x * static_cast<double>(cols) - static_cast<double>(x.first)) * per_x;
    picture.first_y = (image.uv_min.y * static_cast<double>(rows) - static_cast<double>(y.first)) * per_y;
    picture.wide = (image.uv_max.x - image.uv_min.x) * static_cast<double>(cols) * per_x;
    picture.high = (image.uv_max.y - image.uv_min.y) * static_cast<double>(rows) * per_y;
    return picture;
}

}  // namespace locus
