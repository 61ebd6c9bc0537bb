#include "viewer/plots/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "viewer/plots/number_format.h"

namespace locus {

namespace {

void check_shapes(const ConstView<double>& a, const ConstView<double>& b) {
    LOCUS_CHECK(a.rows() == b.rows() && a.cols() == b.cols(),
                "difference: matrices of " + to_string(Shape{a.rows(), a.cols()}) + " and " +
                    to_string(Shape{b.rows(), b.cols()}) + ", expected one shape");
}

/// NaN on both sides, or the same infinity: no number, and no difference either.
bool are_alike(double a, double b) { return !std::isfinite(a) && ((std::isnan(a) && std::isnan(b)) || a == b); }

/// |a - b| as an order: what is not finite comes first.
double badness(double a, double b) {
    if (are_alike(a, b)) return 0;
    const double gap = std::abs(a - b);
    return std::isnan(gap) ? std::numeric_limits<double>::infinity() : gap;
}

bool is_outside(double a, double b, double allowed) { return !(std::abs(a - b) <= allowed); }

}  // namespace

Difference difference_of(const ConstView<double>& a, const ConstView<double>& b, double allowed) {
    check_shapes(a, b);
    Difference all;
    all.cells = a.size();
    std::vector<double> gaps;
    double dot = 0, square_a = 0, square_b = 0;
    for (Index i = 0; i < a.rows(); ++i)
        for (Index j = 0; j < a.cols(); ++j) {
            const double x = a(i, j), y = b(i, j);
            if (is_outside(x, y, allowed)) ++all.outside;
            if (are_alike(x, y)) ++all.alike;
            if (!std::isfinite(x) || !std::isfinite(y)) {
                ++all.not_finite;
                continue;
            }
            gaps.push_back(std::abs(x - y));
            dot += x * y;
            square_a += x * x;
            square_b += y * y;
            all.ulp = std::max(all.ulp, ulp_distance(static_cast<float>(x), static_cast<float>(y)));
        }
    all.cosine = dot / std::sqrt(square_a * square_b);
    if (gaps.empty()) {
        all.largest = all.mean = all.p99 = all.ulp = std::numeric_limits<double>::quiet_NaN();
        return all;
    }
    for (const double gap : gaps) all.mean += gap / static_cast<double>(gaps.size());
    all.largest = *std::max_element(gaps.begin(), gaps.end());
    // The smallest gap that 99 of 100 cells do not exceed.
    const auto place = static_cast<std::ptrdiff_t>(std::ceil(0.99 * static_cast<double>(gaps.size()))) - 1;
    std::nth_element(gaps.begin(), gaps.begin() + place, gaps.end());
    all.p99 = gaps[static_cast<std::size_t>(place)];
    return all;
}

std::string steps_text(double ulp) { return ulp > 1e6 ? "over 1e6" : brief(ulp); }

std::optional<Cell> worst_cell(const ConstView<double>& a, const ConstView<double>& b) {
    check_shapes(a, b);
    std::optional<Cell> worst;
    double largest = 0;
    for (Index i = 0; i < a.rows(); ++i)
        for (Index j = 0; j < a.cols(); ++j)
            if (badness(a(i, j), b(i, j)) > largest) {
                largest = badness(a(i, j), b(i, j));
                worst = Cell{i, j};
            }
    return worst;
}

std::optional<Cell> next_worst(const ConstView<double>& a, const ConstView<double>& b, Cell from) {
    check_shapes(a, b);
    const double before = badness(a(from.i, from.j), b(from.i, from.j));
    std::optional<Cell> next;
    double largest = 0;
    for (Index i = 0; i < a.rows(); ++i)
        for (Index j = 0; j < a.cols(); ++j) {
            const double here = badness(a(i, j), b(i, j));
            const bool later = i > from.i || (i == from.i && j > from.j);
            const bool follows = here < before || (here == before && later);
            if (follows && here > largest) {
                largest = here;
                next = Cell{i, j};
            }
        }
    return next ? next : worst_cell(a, b);
}

std::string where_outside(const ConstView<double>& a, const ConstView<double>& b, double allowed) {
    check_shapes(a, b);
    Index on = 0, off = 0, rows = 0;
    for (Index i = 0; i < a.rows(); ++i) {
        bool any = false;
        for (Index j = 0; j < a.cols(); ++j) {
            if (!is_outside(a(i, j), b(i, j), allowed) || are_alike(a(i, j), b(i, j))) continue;
            ++(i == j ? on : off);
            any = true;
        }
        rows += any;
    }
    const bool square = a.rows() == a.cols() && a.rows() > 1;
    const Index diagonal = a.rows(), rest = a.size() - diagonal;
    if (on + off == 0) return "";
    if (on + off == a.size()) return "every cell differs";
    if (square && on == 0 && off == rest) return "every cell off the diagonal differs and the diagonal agrees";
    if (square && on == 0) return "the diagonal agrees everywhere";
    if (square && off == 0) return "only the diagonal differs";
    if (rows == 1 && a.rows() > 1) return "all of them in one row";
    return "";
}

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

bool ChangedCells::update(const std::string& place, const std::string& setting, const Matrix<double>& values,
                          double allowed, double now) {
    const bool rotated =
        place == place_ && setting != setting_ && values_.rows() == values.rows() && values_.cols() == values.cols();
    if (place != place_) {
        changed_ = {};
        count_ = 0;
        start_ = -kFade;
    }
    const bool begins = rotated && begin(values_, values, allowed, now);
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
