#include "viewer/plots/changed_cells.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

bool ChangedCells::begin(const Matrix<double>& a, const Matrix<double>& b, double allowed, double now) {
    changed_ = Mask::Zero(a.rows(), a.cols());
    count_ = 0;
    for (Index n = 0; n < a.size(); ++n) {
        const double x = a.data()[n], y = b.data()[n];
        const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= allowed;
        changed_.data()[n] = !same;
        count_ += !same;
    }
    start_ = count_ > 0 ? now : -kFade;
    return count_ > 0;
}

bool ChangedCells::follow(const std::string& place, const std::string& setting, const Matrix<double>& values,
                          double allowed, double now) {
    const bool turned =
        place == place_ && setting != setting_ && values_.rows() == values.rows() && values_.cols() == values.cols();
    if (place != place_) {
        changed_ = {};
        count_ = 0;
        start_ = -kFade;
    }
    const bool begins = turned && begin(values_, values, allowed, now);
    place_ = place;
    setting_ = setting;
    values_ = values;
    return begins;
}

bool ChangedCells::flash(const Matrix<double>& a, const Matrix<double>& b, double allowed, double now) {
    return a.rows() == b.rows() && a.cols() == b.cols() && begin(a, b, allowed, now);
}

double ChangedCells::strength(double now) const { return std::clamp(1 - (now - start_) / kFade, 0.0, 1.0); }

std::string ChangedCells::sentence() const {
    return changed_.size() == 0 ? ""
                                : grouped(count_) + " of " + grouped(static_cast<Index>(changed_.size())) +
                                      (changed_.size() == 1 ? " cell changed" : " cells changed");
}

}  // namespace locus
