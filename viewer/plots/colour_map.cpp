#include "viewer/plots/colour_map.h"

#include <algorithm>
#include <cmath>

namespace locus {

namespace {

std::uint8_t blend(std::uint8_t a, std::uint8_t b, double share) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * share));
}

constexpr Rgb rgb(std::uint32_t hex) {
    return {static_cast<std::uint8_t>(hex >> 16), static_cast<std::uint8_t>(hex >> 8), static_cast<std::uint8_t>(hex)};
}

Rgb mixed(Rgb a, Rgb b, double share) {
    return {blend(a.r, b.r, share), blend(a.g, b.g, share), blend(a.b, b.b, share)};
}

/// From the background to a colour, and on to the ink: the colour itself is at three quarters.
ColourMap tinted(Rgb background, Rgb colour, Rgb ink) {
    return ColourMap({background, mixed(background, colour, 0.35), mixed(background, colour, 0.7), colour,
                      mixed(colour, ink, 0.55)});
}

const ColourMap& of_term(MapKind kind, ThemeName theme) {
    constexpr Rgb black{0x00, 0x00, 0x00}, white{0xff, 0xff, 0xff}, night{0x16, 0x19, 0x22};
    static const ColourMap dark[] = {tinted(night, rgb(0x5fa8f5), white), tinted(night, rgb(0xf2a64a), white),
                                     tinted(night, rgb(0x45c297), white)};
    static const ColourMap light[] = {tinted(white, rgb(0x1f6fd1), black), tinted(white, rgb(0xc26a00), black),
                                      tinted(white, rgb(0x0b8a63), black)};
    static const ColourMap contrast[] = {tinted(black, rgb(0x7cc4ff), white), tinted(black, rgb(0xffb54d), white),
                                         tinted(black, rgb(0x4fe3ae), white)};
    const int term = static_cast<int>(kind) - static_cast<int>(MapKind::c2c);
    return (theme == ThemeName::light ? light : theme == ThemeName::contrast ? contrast : dark)[term];
}

}  // namespace

double ValueRange::place(double value) const {
    if (!(high > low)) return 0.5;
    return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

ColourMap::ColourMap(const std::array<Rgb, 5>& stops) {
    for (int n = 0; n < kEntries; ++n) {
        const double at = 4.0 * n / (kEntries - 1);
        const auto left = static_cast<std::size_t>(std::min(3, static_cast<int>(at)));
        const double share = at - static_cast<double>(left);
        const Rgb a = stops[left], b = stops[left + 1];
        entries_[static_cast<std::size_t>(n)] = {blend(a.r, b.r, share), blend(a.g, b.g, share),
                                                 blend(a.b, b.b, share)};
    }
}

Rgb ColourMap::at(double place) const {
    if (std::isnan(place)) return kNotANumber;
    return entries_[static_cast<std::size_t>(std::clamp(place, 0.0, 1.0) * (kEntries - 1) + 0.5)];
}

Rgb ColourMap::of(double value, const ValueRange& range) const {
    return std::isfinite(value) ? at(range.place(value)) : kNotANumber;
}

const ColourMap& ColourMap::of_theme(MapKind kind, ThemeName theme) {
    static const ColourMap diverging_dark({rgb(0x5ebeff), rgb(0x2668a6), rgb(0x181c24), rgb(0x944828), rgb(0xffb278)});
    static const ColourMap diverging_light({rgb(0x2166ac), rgb(0x92c5de), rgb(0xf7f7f7), rgb(0xf4a582), rgb(0xb2182b)});
    static const ColourMap sequential_dark({rgb(0x161922), rgb(0x2c3e6e), rgb(0x3c7896), rgb(0x78be8c), rgb(0xf5eb96)});
    static const ColourMap sequential_light(
        {rgb(0xffffff), rgb(0xc7ddf0), rgb(0x6baed6), rgb(0x2171b5), rgb(0x08306b)});
    if (kind != MapKind::diverging && kind != MapKind::sequential) return of_term(kind, theme);
    static const ColourMap diverging_contrast(
        {rgb(0x9ad8ff), rgb(0x2f7fc8), rgb(0x000000), rgb(0xb85a28), rgb(0xffc890)});
    static const ColourMap sequential_contrast(
        {rgb(0x000000), rgb(0x2f4796), rgb(0x3f8aae), rgb(0x8ad096), rgb(0xffffa8)});
    switch (theme) {
        case ThemeName::light:
            return kind == MapKind::diverging ? diverging_light : sequential_light;
        case ThemeName::contrast:
            return kind == MapKind::diverging ? diverging_contrast : sequential_contrast;
        default:
            return kind == MapKind::diverging ? diverging_dark : sequential_dark;
    }
}

namespace {

constexpr Rgb hex(std::uint32_t rgb) {
    return {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8), static_cast<std::uint8_t>(rgb)};
}

constexpr ThemeColours kDark{hex(0x0f1218), hex(0x151922), hex(0x262c3a), hex(0xe7eaf1), hex(0x8f98ad),
                             hex(0x4f8ff7), hex(0x5fa8f5), hex(0xf2a64a), hex(0x45c297), hex(0xc78fe0),
                             hex(0x1f2531), hex(0xffffff), hex(0xf2777a), hex(0x1c202a)};
constexpr ThemeColours kLight{hex(0xf6f7f9), hex(0xffffff), hex(0xdfe3ea), hex(0x1a1f2b), hex(0x626b82),
                              hex(0x2563eb), hex(0x1f6fd1), hex(0xc26a00), hex(0x0b8a63), hex(0x8a4bb0),
                              hex(0xebedf2), hex(0xffffff), hex(0xc0232c), hex(0xeceef2)};
constexpr ThemeColours kContrast{hex(0x000000), hex(0x000000), hex(0xa8a8a8), hex(0xffffff), hex(0xe0e0e0),
                                 hex(0xffe14d), hex(0x7cc4ff), hex(0xffb54d), hex(0x4fe3ae), hex(0xe5b3ff),
                                 hex(0x262626), hex(0x000000), hex(0xff9c9c), hex(0x000000)};

}  // namespace

const ThemeColours& theme_colours(ThemeName name) {
    return name == ThemeName::light ? kLight : name == ThemeName::contrast ? kContrast : kDark;
}

Pixels paint(const ConstView<float>& values, const Mask& hidden, const CellBlock& block, const ColourMap& map,
             const ValueRange& range, Rgb hidden_colour) {
    Pixels pixels{static_cast<int>(block.cols), static_cast<int>(block.rows), {}};
    pixels.rgba.resize(static_cast<std::size_t>(block.rows * block.cols) * 4);
    std::uint8_t* out = pixels.rgba.data();
    for (Index r = block.row; r < block.row + block.rows; ++r)
        for (Index c = block.col; c < block.col + block.cols; ++c, out += 4) {
            const Rgb colour = hidden.size() > 0 && hidden(r, c) ? hidden_colour : map.of(values(r, c), range);
            out[0] = colour.r;
            out[1] = colour.g;
            out[2] = colour.b;
            out[3] = 255;
        }
    return pixels;
}

ValueRange symmetric_range(const ConstView<float>& values, const Mask& visible) {
    double largest = 0;
    for (Index i = 0; i < values.rows(); ++i)
        for (Index j = 0; j < values.cols(); ++j)
            if (std::isfinite(values(i, j)) && (visible.size() == 0 || visible(i, j)))
                largest = std::max(largest, std::abs(static_cast<double>(values(i, j))));
    if (largest == 0) largest = 1;
    return {-largest, largest};
}

ValueRange probability_range(const ConstView<float>& values) {
    double largest = 0;
    for (Index i = 0; i < values.rows(); ++i)
        for (Index j = 0; j < values.cols(); ++j)
            if (std::isfinite(values(i, j))) largest = std::max(largest, static_cast<double>(values(i, j)));
    return {0, largest > 0 && largest < 0.2 ? largest : 1};
}

Rgb ink_on(Rgb ground) {
    const auto linear = [](std::uint8_t part) {
        const double v = part / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    const double luminance = 0.2126 * linear(ground.r) + 0.7152 * linear(ground.g) + 0.0722 * linear(ground.b);
    // (L + 0.05) / 0.05 for black and 1.05 / (L + 0.05) for white.
    return (luminance + 0.05) * (luminance + 0.05) >= 0.05 * 1.05 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

Rgb blended(Rgb colour, double share, Rgb ground) {
    const auto part = [&](std::uint8_t above, std::uint8_t below) {
        return static_cast<std::uint8_t>(std::lround(share * above + (1 - share) * below));
    };
    return {part(colour.r, ground.r), part(colour.g, ground.g), part(colour.b, ground.b)};
}

Index columns_in_one(Index cols, Index columns) { return std::max<Index>(1, (cols + columns - 1) / columns); }

Matrix<float> pool_columns(const ConstView<float>& values, Index together) {
    Matrix<float> pooled(values.rows(), (values.cols() + together - 1) / together);
    for (Index c = 0; c < pooled.cols(); ++c) {
        const Index from = c * together, count = std::min(together, values.cols() - from);
        pooled.col(c) = values.middleCols(from, count).rowwise().mean();
    }
    return pooled;
}

}  // namespace locus
