#pragma once
// Which cells of a matrix changed when a switch was turned, and how brightly they still glow.
#include <string>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

class ChangedCells {
public:
    static constexpr double kFade = 0.6;  // seconds

    /// Takes the values now on screen.  Cells glow where they differ from those before, if `place` (which stage of
    /// which head of which text) is the same as then and `setting` (the dialect, the mistake) is not; `now` in seconds.
    /// Returns true if it has just begun.
    bool follow(const std::string& place, const std::string& setting, const Matrix<double>& values, double allowed,
                double now);
    /// The same for cells that differ between two matrices on screen.
    bool flash(const Matrix<double>& a, const Matrix<double>& b, double allowed, double now);

    /// 1 when it begins, 0 from kFade on.
    double strength(double now) const;
    double end() const { return start_ + kFade; }
    /// 1 = changed; empty before anything was.
    const Mask& cells() const { return changed_; }
    Index count() const { return count_; }
    /// "240 of 256 cells changed", of the last time; empty where nothing was turned since the place was opened.
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
