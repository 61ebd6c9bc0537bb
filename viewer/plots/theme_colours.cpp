#include "viewer/plots/theme_colours.h"

namespace locus {

namespace {

constexpr Rgb hex(std::uint32_t rgb) {
    return {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8), static_cast<std::uint8_t>(rgb)};
}

constexpr ThemeColours kDark{hex(0x0f1218), hex(0x151922), hex(0x262c3a), hex(0xe7eaf1), hex(0x8f98ad),
                             hex(0x4f8ff7), hex(0x5fa8f5), hex(0xf2a64a), hex(0x45c297), hex(0xc78fe0),
                             hex(0x1f2531), hex(0xffffff), hex(0xf2777a), hex(0x1c202a)};
constexpr ThemeColours kLight{hex(0xf6f7f9), hex(0xffffff), hex(0xdfe3ea), hex(0x1a1f2b), hex(0x69728a),
                              hex(0x2563eb), hex(0x1f6fd1), hex(0xc26a00), hex(0x0b8a63), hex(0x8a4bb0),
                              hex(0xebedf2), hex(0xffffff), hex(0xc0232c), hex(0xeceef2)};
constexpr ThemeColours kContrast{hex(0x000000), hex(0x000000), hex(0xa8a8a8), hex(0xffffff), hex(0xe0e0e0),
                                 hex(0xffe14d), hex(0x7cc4ff), hex(0xffb54d), hex(0x4fe3ae), hex(0xe5b3ff),
                                 hex(0x262626), hex(0x000000), hex(0xff9c9c), hex(0x000000)};

}  // namespace

const ThemeColours& theme_colours(ThemeName name) {
    return name == ThemeName::light ? kLight : name == ThemeName::contrast ? kContrast : kDark;
}

}  // namespace locus
