#pragma once
// Values to colours: diverging about zero for scores, sequential from zero for probabilities.
#include <cstdint>

namespace locus::view {

/// Red, green, blue, alpha of one cell, as textures take them.
struct Rgba {
    std::uint8_t r = 0, g = 0, b = 0, a = 255;
    bool operator==(const Rgba&) const = default;
};

enum class MapKind {
    diverging,   // -range ... +range, centred at 0
    sequential,  // 0 ... range
};

/// Colour of a value; values beyond the range take the end colours, NaN is magenta in every map.
/// A range of 0 or less shows everything as the map's zero.
Rgba map_colour(double value, double range, MapKind kind, bool dark);

}  // namespace locus::view
