#include "core/conformance/diagnosis/other_function.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/conformance/formulas/classifiers.h"
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/objectives.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

constexpr std::size_t kFewestPoints = 48;  // fewer lie on a curve by chance
constexpr double kSteepest = 8;            // no activation is steeper: that of a squared relu at 4
constexpr double kWidestGap = 0.25;        // between two points that a number is read off

struct Point {
    double x = 0, y = 0;
};

/// What goes into an activation, and which one it should be.
struct Inner {
    Matrix<double> values;
    Activation right;
};

std::optional<Inner> inner_of(const Replay& at, const std::string& stem) {
    if (stem == "ffn_act") return Inner{dense<double>(ffn_input(at), ffn_dense_of(at)), activation_of(at)};
    if (stem == "conv_act") {
        need_convolution(at);
        Tensor<double> values = at("conv");
        hide_tokens(at, values);
        return Inner{values.rows(), at.deberta().config().conv_act};
    }
    if (stem == "/classifier.pooled") {
        const ClassifierParts parts = classifier_parts(at);
        if (parts.dense.empty() || !parts.activation) return std::nullopt;
        return Inner{pooled_inner(at, right_rows(at)), *parts.activation};
    }
    if (stem == "/rtd.transform")
        return Inner{dense<double>(at("/rtd.norm").rows(), detector_dense(at)), config_of(at).hidden_act};
    return std::nullopt;
}

/// Points on one curve: neighbours differ no more than the steepest activation would have it.
bool is_a_curve(const std::vector<Point>& points, double allowed) {
    for (std::size_t n = 1; n < points.size(); ++n)
        if (!(std::abs(points[n].y - points[n - 1].y) <= kSteepest * (points[n].x - points[n - 1].x) + 2 * allowed))
            return false;
    return true;
}

/// The curve at x between its two neighbours; nothing where those lie far apart.
std::optional<double> read_off(const std::vector<Point>& points, double x) {
    const auto after = std::lower_bound(points.begin(), points.end(), x,
                                        [](const Point& point, double wanted) { return point.x < wanted; });
    if (after == points.begin() || after == points.end()) return std::nullopt;
    const Point &a = *(after - 1), &b = *after;
    if (b.x - a.x > kWidestGap) return std::nullopt;
    return b.x > a.x ? a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x) : b.y;
}

/// Two digits behind the point: more are not known between two points.
std::string rounded(double value) { return format_number(std::round(100 * value) / 100 + 0.0); }

}  // namespace

std::optional<std::string> function_instead(const Replay& here, const std::string& stem, const Compared& at) {
    const std::optional<Inner> inner = inner_of(here, stem);
    if (!inner || inner->values.size() != at.found.size()) return std::nullopt;
    std::vector<Point> points;
    for (Index n = 0; n < at.found.size(); ++n) points.push_back({inner->values.data()[n], at.found[n]});
    if (points.size() < kFewestPoints || std::any_of(points.begin(), points.end(), [](const Point& point) {
            return !std::isfinite(point.x) || !std::isfinite(point.y);
        }))
        return std::nullopt;
    std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
    const auto [least, most] =
        std::minmax_element(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.y < b.y; });
    // Numbers that differ by no more than such a slope explains lie on a curve whatever they are.
    const double gap = (points.back().x - points.front().x) / static_cast<double>(points.size());
    if (!(most->y - least->y > 8 * kSteepest * gap) || !is_a_curve(points, at.allowed)) return std::nullopt;

    std::string seen, should;
    for (const double x : {-2.0, -1.0, 0.0, 1.0, 2.0}) {
        const std::optional<double> y = read_off(points, x);
        if (!y) continue;
        seen += (seen.empty() ? "f(" : ", f(") + format_number(x) + ") = " + rounded(*y);
        const Matrix<double> right = activate<double>(Matrix<double>::Constant(1, 1, x), inner->right);
        should += (should.empty() ? "" : ", ") + rounded(right(0, 0));
    }
    if (seen.empty()) return std::nullopt;
    return "another function of the right numbers: " + seen + ", where " + to_string(inner->right) + " gives " + should;
}

}  // namespace locus::conformance
