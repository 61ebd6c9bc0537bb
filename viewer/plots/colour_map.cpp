#include "viewer/plots/colour_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace locus::view {

namespace {

using Stops = std::array<unsigned, 5>;
constexpr Stops kDivergingDark = {0x5ebeff, 0x2668a6, 0x181c24, 0x944828, 0xffb278};
constexpr Stops kDivergingLight = {0x2166ac, 0x92c5de, 0xf7f7f7, 0xf4a582, 0xb2182b};
constexpr Stops kSequentialDark = {0x161922, 0x2c3e6e, 0x3c7896, 0x78be8c, 0xf5eb96};
constexpr Stops kSequentialLight = {0xffffff, 0xc7ddf0, 0x6baed6, 0x2171b5, 0x08306b};

constexpr Rgba kNaN = {255, 0, 255, 255};

/// Linear between the stops; place runs from 0 to 1.
Rgba interpolate(const Stops& stops, double place) {
    const double at = std::clamp(place, 0.0, 1.0) * (stops.size() - 1);
    const auto low = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    const double share = at - static_cast<double>(low);
    const auto channel = [&](int shift) {
        const double from = (stops[low] >> shift) & 255, to = (stops[low + 1] >> shift) & 255;
        return static_cast<std::uint8_t>(std::lround(from + (to - from) * share));
    };
    return {channel(16), channel(8), channel(0), 255};
}

}  // namespace

Rgba map_colour(double value, double range, MapKind kind, bool dark) {
    if (std::isnan(value)) return kNaN;
    const double relative = range > 0 ? value / range : 0;
    if (kind == MapKind::diverging) return interpolate(dark ? kDivergingDark : kDivergingLight, 0.5 + relative / 2);
    return interpolate(dark ? kSequentialDark : kSequentialLight, relative);
}

}  // namespace locus::view
