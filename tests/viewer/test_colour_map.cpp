#include "viewer/plots/colour_map.h"

#include <catch2/catch.hpp>
#include <limits>

namespace locus::test::test_colour_map {

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("colour_map: zero has the middle colour of a diverging map", "[viewer]") {
    const ValueRange range{-5, 5};
    CHECK(ColourMap::of_theme(MapKind::diverging, ThemeName::dark).of(0, range) == Rgb{0x18, 0x1c, 0x24});
    CHECK(ColourMap::of_theme(MapKind::diverging, ThemeName::light).of(0, range) == Rgb{0xf7, 0xf7, 0xf7});
}

TEST_CASE("colour_map: the ends of the range have the end colours, and so has everything beyond", "[viewer]") {
    const ColourMap& dark = ColourMap::of_theme(MapKind::diverging, ThemeName::dark);
    CHECK(dark.of(-5, {-5, 5}) == Rgb{0x5e, 0xbe, 0xff});
    CHECK(dark.of(5, {-5, 5}) == Rgb{0xff, 0xb2, 0x78});
    CHECK(dark.of(-99, {-5, 5}) == Rgb{0x5e, 0xbe, 0xff});
    CHECK(dark.of(99, {-5, 5}) == Rgb{0xff, 0xb2, 0x78});
}

TEST_CASE("colour_map: a sequential map starts at the low end", "[viewer]") {
    const ColourMap& light = ColourMap::of_theme(MapKind::sequential, ThemeName::light);
    CHECK(light.of(0, {0, 1}) == Rgb{0xff, 0xff, 0xff});
    CHECK(light.of(0.25, {0, 1}) == Rgb{0xc7, 0xdd, 0xf0});
    CHECK(light.of(1, {0, 1}) == Rgb{0x08, 0x30, 0x6b});
    // Halfway between the first two colours, to the nearest step: 247.5 is 248.
    CHECK(light.of(0.125, {0, 1}) == Rgb{227, 238, 248});
}

TEST_CASE("colour_map: NaN and infinities are magenta in every map", "[viewer]") {
    for (const MapKind kind : {MapKind::diverging, MapKind::sequential})
        for (const ThemeName theme : {ThemeName::dark, ThemeName::light}) {
            const ColourMap& map = ColourMap::of_theme(kind, theme);
            CHECK(map.of(kNan, {0, 1}) == Rgb{255, 0, 255});
            CHECK(map.of(kInfinity, {0, 1}) == Rgb{255, 0, 255});
            CHECK(map.of(-kInfinity, {0, 1}) == Rgb{255, 0, 255});
            CHECK(map.at(kNan) == Rgb{255, 0, 255});
        }
}

TEST_CASE("colour_map: an empty range puts every value in the middle", "[viewer]") {
    CHECK(ValueRange{3, 3}.place(3) == 0.5);
    CHECK(ValueRange{3, 3}.place(-8) == 0.5);
}

}  // namespace locus::test::test_colour_map
