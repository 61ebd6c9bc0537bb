#pragma once
// Halving a matrix by the mean of 2 x 2 cells, for pictures with more cells than pixels.
#include <vector>

namespace locus::view {

/// A matrix of values, row by row.
struct Grid {
    int rows = 0, cols = 0;
    std::vector<float> values;
};

/// Each cell is the mean of up to four; an odd last row or column is averaged over what there is; NaN stays NaN.
Grid halve(const Grid& grid);

/// How often to halve so that a cell covers at least one pixel: 0 where `cells_per_pixel` <= 1.
int level_for(double cells_per_pixel);

}  // namespace locus::view
