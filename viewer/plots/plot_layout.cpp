#include "viewer/plots/plot_layout.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "viewer/plots/number_format.h"

namespace locus {

namespace {

std::vector<double> multiples(double low, double high, double step) {
    std::vector<double> ticks;
    // A bound that is a multiple up to rounding counts as one.
    const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
    for (double n = first; n <= last; ++n) ticks.push_back(n * step + 0.0);  // + 0.0 turns -0 into 0
    return ticks;
}

std::vector<double> ticks_from(double low, double high, int at_most, double smallest_step) {
    if (!std::isfinite(low) || !std::isfinite(high) || low > high) return {};
    if (low == high) return {low};
    double power = std::pow(10.0, std::floor(std::log10((high - low) / at_most)));
    std::vector<double> finer;
    for (;; power *= 10)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double step = factor * power;
            if (step < smallest_step) continue;
            std::vector<double> ticks = multiples(low, high, step);
            if (static_cast<int>(ticks.size()) > std::max(2, at_most)) {
                finer = std::move(ticks);
                continue;
            }
            // One tick alone tells no scale: the outer ones of the finer step do, and their middle where it is one.
            if (ticks.size() > 1 || finer.empty()) return ticks;
            if (at_most < 3 || finer.size() % 2 == 0) return {finer.front(), finer.back()};
            return {finer.front(), finer[finer.size() / 2], finer.back()};
        }
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int at_most) { return ticks_from(low, high, at_most, 0); }

std::vector<double> whole_ticks(double low, double high, int at_most) { return ticks_from(low, high, at_most, 1); }

namespace {

/// The fewest decimals, at most `most`, that say every number exactly; nothing where that is not enough.
std::optional<int> exact_decimals(const std::vector<double>& numbers, int most) {
    for (int decimals = 0; decimals <= most; ++decimals) {
        const double scale = std::pow(10.0, decimals);
        const bool exact = std::all_of(numbers.begin(), numbers.end(), [&](double number) {
            return std::abs(number * scale - std::round(number * scale)) <=
                   1e-6 * std::min(1.0, std::abs(number * scale));
        });
        if (exact) return decimals;
    }
    return std::nullopt;
}

/// 0.0025 -> 2.5
double mantissa_of(double value) {
    return value == 0 ? 0 : value / std::pow(10.0, std::floor(std::log10(std::abs(value)) + 1e-9));
}

}  // namespace

std::string tick_label(double tick, const std::vector<double>& ticks) {
    const bool is_long = std::any_of(ticks.begin(), ticks.end(), [](double each) { return std::abs(each) >= 1e6; });
    if (const auto decimals = exact_decimals(ticks, 4); decimals && !is_long) return fixed(tick, *decimals);
    if (tick == 0) return "0";
    std::vector<double> mantissas;
    for (const double each : ticks) mantissas.push_back(mantissa_of(each));
    return scientific(tick, exact_decimals(mantissas, 3).value_or(3));
}

Corner tooltip_place(const Box& spoken_of, float width, float height, float screen_width, float screen_height,
                     float gap) {
    const auto inside = [](float at, float size, float area) { return std::max(0.0f, std::min(at, area - size)); };
    const float right = screen_width - spoken_of.x1, left = spoken_of.x0;
    const float below = screen_height - spoken_of.y1, above = spoken_of.y0;
    const float y = inside(spoken_of.y0, height, screen_height), x = inside(spoken_of.x0, width, screen_width);
    if (right >= width + gap) return {spoken_of.x1 + gap, y};
    if (left >= width + gap) return {spoken_of.x0 - gap - width, y};
    if (below >= height + gap) return {x, spoken_of.y1 + gap};
    if (above >= height + gap) return {x, spoken_of.y0 - gap - height};
    // No side is large enough: over the largest one.
    const float most = std::max({right, left, below, above});
    if (most == right) return {screen_width - width, y};
    if (most == left) return {0, y};
    return {x, most == below ? screen_height - height : 0};
}

}  // namespace locus
