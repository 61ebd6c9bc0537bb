#pragma once
// A matrix as pixels, one per cell.
#include <cstdint>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"
#include "viewer/plots/colour_map.h"

namespace locus {

/// RGBA, first row on top, 4 bytes a pixel.
struct Pixels {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgba;
};

/// A part of a matrix or of a pooled level.
struct CellBlock {
    Index row = 0, col = 0, rows = 0, cols = 0;
};

/// One pixel per cell of the block; cells that are hidden (1 in `hidden`, [rows, cols] or empty) take `hidden_colour`.
Pixels paint(const ConstView<float>& values, const Mask& hidden, const CellBlock& block, const ColourMap& map,
             const ValueRange& range, Rgb hidden_colour);

/// -m ... m, where m is the largest finite magnitude among visible cells (1 if there is none or all are 0).
ValueRange symmetric_range(const ConstView<float>& values, const Mask& visible);

/// Mean of neighbouring columns, until at most `columns` are left: [rows, cols] -> [rows, min(cols, columns)].
Matrix<float> pool_columns(const ConstView<float>& values, Index columns);

}  // namespace locus
