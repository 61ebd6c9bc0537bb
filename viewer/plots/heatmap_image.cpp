#include "viewer/plots/heatmap_image.h"

#include <algorithm>
#include <cmath>

namespace locus {

Pixels paint(const ConstView<float>& values, const Mask& hidden, const CellBlock& block, const ColourMap& map,
             const ValueRange& range, Rgb hidden_colour) {
    Pixels pixels{static_cast<int>(block.cols), static_cast<int>(block.rows), {}};
    pixels.rgba.resize(static_cast<std::size_t>(block.rows * block.cols) * 4);
    std::uint8_t* out = pixels.rgba.data();
    for (Index r = block.row; r < block.row + block.rows; ++r)
        for (Index c = block.col; c < block.col + block.cols; ++c, out += 4) {
            const Rgb colour = hidden.size() > 0 && hidden(r, c) ? hidden_colour : map.of(values(r, c), range);
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
