#include "viewer/plots/heatmap_image.h"

#include <algorithm>
#include <cmath>

namespace locus {

namespace {

/// Blocks of neighbouring cells; every cell of the finer level belongs to exactly one block.
CellLevel halve(const CellLevel& fine, Pooling pooling) {
    const Index rows = std::max<Index>(1, fine.values.rows() / 2), cols = std::max<Index>(1, fine.values.cols() / 2);
    CellLevel coarse;
    coarse.values.resize(rows, cols);
    if (fine.hidden.size() > 0) coarse.hidden = Mask::Zero(rows, cols);
    for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < cols; ++c) {
            const Index r0 = r * fine.values.rows() / rows, r1 = (r + 1) * fine.values.rows() / rows;
            const Index c0 = c * fine.values.cols() / cols, c1 = (c + 1) * fine.values.cols() / cols;
            float sum = 0, largest = 0;
            int count = 0;
            for (Index y = r0; y < r1; ++y)
                for (Index x = c0; x < c1; ++x) {
                    if (fine.hidden.size() > 0 && fine.hidden(y, x)) continue;
                    const float value = fine.values(y, x);
                    sum += value;
                    if (!(std::abs(value) <= std::abs(largest))) largest = value;
                    ++count;
                }
            if (pooling == Pooling::largest)
                coarse.values(r, c) = std::isnan(sum) ? sum : largest;
            else
                coarse.values(r, c) = count > 0 ? sum / static_cast<float>(count) : 0.0f;
            if (count == 0) coarse.hidden(r, c) = 1;
        }
    return coarse;
}

}  // namespace

std::vector<CellLevel> pool_levels(const ConstView<float>& values, const Mask& visible, Pooling pooling) {
    LOCUS_CHECK(values.rows() > 0 && values.cols() > 0, "pool_levels: a matrix without cells, expected at least one");
    LOCUS_CHECK(visible.size() == 0 || (visible.rows() == values.rows() && visible.cols() == values.cols()),
                "pool_levels: a mask of [" + std::to_string(visible.rows()) + ", " + std::to_string(visible.cols()) +
                    "] for values of [" + std::to_string(values.rows()) + ", " + std::to_string(values.cols()) + "]");
    std::vector<CellLevel> levels(1);
    levels[0].values = values;
    if (visible.size() > 0) levels[0].hidden = (visible.array() == 0).cast<std::uint8_t>();
    while (levels.back().values.size() > 1) levels.push_back(halve(levels.back(), pooling));
    return levels;
}

Pixels paint(const CellLevel& level, const ColourMap& map, const ValueRange& range, Rgb hidden) {
    Pixels pixels{static_cast<int>(level.values.cols()), static_cast<int>(level.values.rows()), {}};
    pixels.rgba.resize(static_cast<std::size_t>(level.values.size()) * 4);
    std::uint8_t* out = pixels.rgba.data();
    for (Index n = 0; n < level.values.size(); ++n, out += 4) {
        const bool is_hidden = level.hidden.size() > 0 && level.hidden.data()[n];
        const Rgb colour = is_hidden ? hidden : map.of(level.values.data()[n], range);
        out[0] = colour.r;
        out[1] = colour.g;
        out[2] = colour.b;
        out[3] = 255;
    }
    return pixels;
}

ValueRange symmetric_range(const ConstView<float>& values, const Mask& visible) {
    double largest = 0;
    for (Index i = 0; i < values.rows(); ++i)
        for (Index j = 0; j < values.cols(); ++j)
            if (std::isfinite(values(i, j)) && (visible.size() == 0 || visible(i, j)))
                largest = std::max(largest, std::abs(static_cast<double>(values(i, j))));
    if (largest == 0) largest = 1;
    return {-largest, largest};
}

Matrix<float> pool_columns(const ConstView<float>& values, Index columns) {
    const Index kept = std::min(values.cols(), columns);
    Matrix<float> pooled(values.rows(), kept);
    for (Index c = 0; c < kept; ++c) {
        const Index from = c * values.cols() / kept, to = (c + 1) * values.cols() / kept;
        pooled.col(c) = values.middleCols(from, to - from).rowwise().mean();
    }
    return pooled;
}

}  // namespace locus
