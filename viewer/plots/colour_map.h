#pragma once
// From a number to a colour, and from a matrix to pixels: a diverging map for signed scores, a sequential one for
// probabilities, the colours of the themes, one pixel per cell.
#include <array>
#include <cstdint>
#include <vector>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

enum class ThemeName { dark, light, contrast };
/// As --theme, the settings and the palette say it, in the order of ThemeName.
constexpr const char* kThemeNames[] = {"dark", "light", "contrast"};
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

struct ThemeColours {
    Rgb background, panel, line, text, muted, accent;
    Rgb c2c, c2p, p2c, p2p;
    Rgb chip;       // background of tokens and of the chosen page
    Rgb on_accent;  // text on the accent colour
    Rgb fault;      // sentences that report an error
    Rgb hidden;     // cells that the mask hides, under their hatching
};

const ThemeColours& theme_colours(ThemeName name);

/// RGBA, first row on top, 4 bytes a pixel.
struct Pixels {
    int width = 0, height = 0;
    std::vector<std::uint8_t> rgba;
};

/// A part of a matrix or of a pooled level.
struct CellBlock {
    Index row = 0, col = 0, rows = 0, cols = 0;
};

/// One pixel per cell of the block; cells that are hidden (1 in `hidden`, [rows, cols] or empty) take `hidden_colour`.
Pixels paint(const ConstView<float>& values, const Mask& hidden, const CellBlock& block, const ColourMap& map,
             const ValueRange& range, Rgb hidden_colour);

/// -m ... m, where m is the largest finite magnitude among visible cells (1 if there is none or all are 0).
ValueRange symmetric_range(const ConstView<float>& values, const Mask& visible);

/// 0 ... 1 for probabilities, so that pictures can be compared; 0 ... the largest where that is below 0.2, as in long
/// or even attention, which would be black on the whole scale.
ValueRange probability_range(const ConstView<float>& values);

/// Black or white, whichever can be read better on this colour: WCAG 2.1, at least 4.5 to 1.
Rgb ink_on(Rgb ground);

/// What is seen of a colour that covers a share 0 ... 1 of its ground.
Rgb blended(Rgb colour, double share, Rgb ground);

/// How many neighbouring columns share one, so that at most `columns` are left.
Index columns_in_one(Index cols, Index columns);

/// Mean of so many neighbouring columns, the last one of what is left: [rows, cols] -> [rows, cols / together, rounded
/// up].
Matrix<float> pool_columns(const ConstView<float>& values, Index together);

}  // namespace locus
