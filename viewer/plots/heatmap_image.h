#pragma once
// A matrix as pixels: one per cell, and smaller images of means for when a cell is smaller than a pixel.
#include <cstdint>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"
#include "viewer/plots/colour_map.h"

namespace locus {

/// A matrix at one level of detail; hidden cells hold no value.
struct CellLevel {
    Matrix<float> values;  // [rows, cols]
    Mask hidden;           // [rows, cols], 1 = the mask hides every cell of this block; empty: nothing is hidden
};

/// RGBA, first row on top, 4 bytes a pixel.
struct Pixels {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgba;
};

/// What a block of cells becomes when it is as small as one pixel.
enum class Pooling {
    mean,
    largest,  // the value farthest from 0: no single bright cell is lost
};

/// Level 0 is the matrix itself, each further level has half the rows and columns (rounded down, at least 1), as mip
/// levels do.  A pooled cell is the mean, or the largest, of the visible cells it covers; NaN anywhere among them stays
/// NaN. values [rows, cols], visible [rows, cols] or empty.  Throws if the shapes differ or a side is 0.
std::vector<CellLevel> pool_levels(const ConstView<float>& values, const Mask& visible,
                                   Pooling pooling = Pooling::mean);

/// One pixel per cell; hidden cells take `hidden`.
Pixels paint(const CellLevel& level, const ColourMap& map, const ValueRange& range, Rgb hidden);

/// -m ... m, where m is the largest finite magnitude among visible cells (1 if there is none or all are 0).
ValueRange symmetric_range(const ConstView<float>& values, const Mask& visible);

/// Mean of neighbouring columns, until at most `columns` are left: [rows, cols] -> [rows, min(cols, columns)].
Matrix<float> pool_columns(const ConstView<float>& values, Index columns);

}  // namespace locus
