#include "viewer/export/figure_cells.h"

#include <algorithm>
#include <cmath>

namespace locus {

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
