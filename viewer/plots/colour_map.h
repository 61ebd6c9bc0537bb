#pragma once
// From a number to a colour: a diverging map for signed scores, a sequential one for probabilities.
#include <array>
#include <cstdint>

namespace locus {

enum class ThemeName { dark, light };
/// The last three are sequential maps in the colours of the terms.
enum class MapKind { diverging, sequential, c2c, c2p, p2c };

struct Rgb {
    std::uint8_t r = 0, g = 0, b = 0;
    bool operator==(const Rgb&) const = default;
};

/// What a NaN or an infinity looks like: seen at once in either theme.
constexpr Rgb kNotANumber{255, 0, 255};

/// Values low ... high spread over the map; values outside take the end colours.
struct ValueRange {
    double low = 0, high = 1;
    /// Place of a value in 0 ... 1, clamped; 0.5 where the range is empty.
    double place(double value) const;
};

/// Five stops, linear between them.
class ColourMap {
public:
    explicit ColourMap(const std::array<Rgb, 5>& stops);
    /// Colour at place 0 ... 1 (clamped); NaN gives kNotANumber.  0.5 gives the middle stop exactly.
    Rgb at(double place) const;
    /// Colour of a value; NaN and infinities give kNotANumber.
    Rgb of(double value, const ValueRange& range) const;
    /// The map of a theme.  Its middle (diverging) or start (sequential) is close to the theme's background.
    static const ColourMap& of_theme(MapKind kind, ThemeName theme);

private:
    // Odd, so that the centre of a diverging map is one entry and zero has one colour.
    static constexpr int kEntries = 1025;
    std::array<Rgb, kEntries> entries_;
};

}  // namespace locus
