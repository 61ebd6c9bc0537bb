#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "viewer/plots/colour_map.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/pooling.h"

using namespace locus::view;

TEST_CASE("colour_map: diverging maps are centred at zero and end in their end colours", "[viewer]") {
    CHECK(map_colour(0, 5, MapKind::diverging, true) == Rgba{0x18, 0x1c, 0x24, 255});
    CHECK(map_colour(0, 5, MapKind::diverging, false) == Rgba{0xf7, 0xf7, 0xf7, 255});
    CHECK(map_colour(-5, 5, MapKind::diverging, true) == Rgba{0x5e, 0xbe, 0xff, 255});
    CHECK(map_colour(5, 5, MapKind::diverging, false) == Rgba{0xb2, 0x18, 0x2b, 255});
    CHECK(map_colour(99, 5, MapKind::diverging, false) == Rgba{0xb2, 0x18, 0x2b, 255});
    CHECK(map_colour(2.5, 5, MapKind::diverging, false) == Rgba{0xf4, 0xa5, 0x82, 255});
}

TEST_CASE("colour_map: sequential maps begin at zero", "[viewer]") {
    CHECK(map_colour(0, 1, MapKind::sequential, true) == Rgba{0x16, 0x19, 0x22, 255});
    CHECK(map_colour(1, 1, MapKind::sequential, false) == Rgba{0x08, 0x30, 0x6b, 255});
    CHECK(map_colour(-1, 1, MapKind::sequential, false) == Rgba{0xff, 0xff, 0xff, 255});
}

TEST_CASE("colour_map: NaN is magenta, infinity an end colour, a zero range the centre", "[viewer]") {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    CHECK(map_colour(nan, 1, MapKind::diverging, true) == Rgba{255, 0, 255, 255});
    CHECK(map_colour(nan, 1, MapKind::sequential, false) == Rgba{255, 0, 255, 255});
    CHECK(map_colour(infinity, 1, MapKind::diverging, false) == Rgba{0xb2, 0x18, 0x2b, 255});
    CHECK(map_colour(3, 0, MapKind::diverging, false) == Rgba{0xf7, 0xf7, 0xf7, 255});
}

TEST_CASE("number_format: fixed decimals, a true minus, no negative zero", "[viewer]") {
    CHECK(fixed(-12.08309, 4) == "\u221212.0831");
    CHECK(fixed(61.1062, 2) == "61.11");
    CHECK(fixed(-0.00001, 3) == "0.000");
    CHECK(fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "NaN");
    CHECK(fixed(-std::numeric_limits<double>::infinity(), 2) == "\u2212\u221e");
}

TEST_CASE("number_format: brief numbers keep three digits", "[viewer]") {
    CHECK(brief(58.7342) == "58.7");
    CHECK(brief(0.25) == "0.25");
    CHECK(brief(-10) == "\u221210");
    CHECK(brief(1.23456e-5) == "1.23e\u22125");
    CHECK(brief(1e7) == "1e7");
}

TEST_CASE("number_format: steps are 1, 2 or 5 times a power of ten and never too many", "[viewer]") {
    CHECK(nice_step(40, 5) == 10);
    CHECK(nice_step(42, 5) == 10);
    CHECK(nice_step(10, 5) == 2);
    CHECK(nice_step(0.3, 4) == Approx(0.1));
    CHECK(nice_step(0, 5) == 1);
    for (double extent = 0.01; extent < 1e4; extent *= 1.37) CHECK(extent / nice_step(extent, 6) <= 6 + 1e-9);
}

TEST_CASE("pooling: halving takes means, over what there is at the edges", "[viewer]") {
    const Grid half = halve({3, 3, {1, 3, 5, 5, 7, 9, 10, 20, 30}});
    CHECK(half.rows == 2);
    CHECK(half.cols == 2);
    CHECK(half.values == std::vector<float>{4, 7, 15, 30});
    CHECK(std::isnan(halve({1, 2, {1, std::nanf("")}}).values[0]));
}

TEST_CASE("pooling: a level for every density", "[viewer]") {
    CHECK(level_for(0.5) == 0);
    CHECK(level_for(1) == 0);
    CHECK(level_for(1.5) == 1);
    CHECK(level_for(2) == 1);
    CHECK(level_for(8) == 3);
}
