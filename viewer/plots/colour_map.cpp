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

/// From the background to a colour, and on to the ink: the colour itself stands at three quarters.
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
    const int term = static_cast<int>(kind) - static_cast<int>(MapKind::c2c);
    return (theme == ThemeName::dark ? dark : light)[term];
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
    if (kind == MapKind::diverging) return theme == ThemeName::dark ? diverging_dark : diverging_light;
    if (kind != MapKind::sequential) return of_term(kind, theme);
    return theme == ThemeName::dark ? sequential_dark : sequential_light;
}

}  // namespace locus
