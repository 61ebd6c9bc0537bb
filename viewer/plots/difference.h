#pragma once
// Two matrices of one shape: how far apart they are, where, and in which order of badness.
#include <optional>
#include <string>

#include "viewer/plots/matrix_view.h"

namespace locus {

/// What |a - b| says of all cells at once.  Cells where either side is NaN or infinite count as outside and as not
/// finite, and enter no other figure.
struct Difference {
    Index cells = 0, outside = 0, not_finite = 0;
    double largest = 0, mean = 0, p99 = 0;
    double cosine = 0;  // of all values as one vector; NaN where one of them is zero
    double ulp = 0;     // largest distance in steps of float32
};

/// a, b [rows, cols]; a cell is outside where |a - b| > allowed.  Throws if the shapes differ.
Difference difference_of(const ConstView<double>& a, const ConstView<double>& b, double allowed);

/// How many float32 numbers lie between two, one of them counted: 0 for the same, 1 for neighbours.  +0 and -0 are the
/// same.  NaN for NaN.
double ulp_distance(float a, float b);

/// The cell where |a - b| is largest; what is not finite is worst of all, ties go row by row.  Nothing where a and b
/// are equal everywhere.
std::optional<Cell> worst_cell(const ConstView<double>& a, const ConstView<double>& b);
/// The next one in that order, and behind the last cell that differs the worst again.
std::optional<Cell> next_worst(const ConstView<double>& a, const ConstView<double>& b, Cell from);

/// Where the cells outside are, in words: "every cell off the diagonal differs and the diagonal agrees".  Empty where
/// there is no such rule, or nothing is outside.
std::string where_outside(const ConstView<double>& a, const ConstView<double>& b, double allowed);

}  // namespace locus
