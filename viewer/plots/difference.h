#pragma once
// Two matrices of one shape: how far apart they are, where, and which cells changed between two frames.
#include <optional>
#include <string>

#include "core/attention/softmax.h"
#include "core/compare.h"
#include "core/tensor.h"
#include "viewer/plots/matrix_view.h"

namespace locus {

/// What |a - b| says of all cells at once.  Cells where either side is NaN or infinite count as outside and as not
/// finite, and enter no other figure; where all cells are such, the others are NaN.  That NaN for NaN is outside too is
/// the law of core/compare.h; `alike` counts these, which are no difference to speak of.
struct Difference {
    Index cells = 0, outside = 0, not_finite = 0;
    Index alike = 0;  // NaN on both sides, or the same infinity
    double largest = 0, mean = 0, p99 = 0;
    double cosine = 0;  // of all values as one vector; NaN where one of them is zero
    double ulp = 0;     // largest distance in steps of float32
};

/// a, b [rows, cols]; a cell is outside where |a - b| > allowed.  Throws if the shapes differ.
Difference difference_of(const ConstView<double>& a, const ConstView<double>& b, double allowed);

/// "12", and "over 1e6" for more: then the two are far from being neighbours.
std::string steps_text(double ulp);

/// The cell where |a - b| is largest; what is not finite is worst of all, ties go row by row.  Nothing where a and b
/// are equal everywhere.
std::optional<Cell> worst_cell(const ConstView<double>& a, const ConstView<double>& b);
/// The next one in that order, and after the last cell that differs the worst again.
std::optional<Cell> next_worst(const ConstView<double>& a, const ConstView<double>& b, Cell from);

/// Where the cells outside are, in words: "every cell off the diagonal differs and the diagonal agrees".  Empty where
/// there is no such rule, or nothing is outside.
std::string where_outside(const ConstView<double>& a, const ConstView<double>& b, double allowed);

/// Which cells of a matrix changed when a switch was changed, and how brightly they still glow.
class ChangedCells {
public:
    static constexpr double kFade = 0.6;  // seconds

    /// Takes the values now on screen.  Cells glow where they differ from those before, if `place` (which stage of
    /// which head of which text) is the same as then and `setting` (the dialect, the mistake) is not; `now` in seconds.
    /// Returns true if it has just begun.
    bool update(const std::string& place, const std::string& setting, const Matrix<double>& values, double allowed,
                double now);
    /// The same for cells that differ between two matrices on screen.
    bool flash(const Matrix<double>& a, const Matrix<double>& b, double allowed, double now);

    /// 1 when it begins, 0 from kFade on.
    double strength(double now) const;
    double end() const { return start_ + kFade; }
    /// 1 = changed; empty before anything was.
    const Mask& cells() const { return changed_; }
    Index count() const { return count_; }
    /// "240 of 256 cells changed", of the last time; empty where no switch was changed since the place was opened.
    std::string sentence() const;

private:
    bool begin(const Matrix<double>& a, const Matrix<double>& b, double allowed, double now);

    std::string place_, setting_;
    Matrix<double> values_;
    Mask changed_;
    Index count_ = 0;
    double start_ = -kFade;
};

}  // namespace locus
