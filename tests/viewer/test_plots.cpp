#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "viewer/plots/colour_map.h"
#include "viewer/plots/heatmap_image.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/ticks.h"

using namespace locus;

namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

Rgb colour(MapKind kind, ThemeName theme, double value, ValueRange range) {
    return ColourMap::of_theme(kind, theme).of(value, range);
}

}  // namespace

TEST_CASE("colour_map: diverging maps are centred at zero and end in their end colours", "[viewer]") {
    const ValueRange range{-5, 5};
    CHECK(colour(MapKind::diverging, ThemeName::dark, 0, range) == Rgb{0x18, 0x1c, 0x24});
    CHECK(colour(MapKind::diverging, ThemeName::light, 0, range) == Rgb{0xf7, 0xf7, 0xf7});
    CHECK(colour(MapKind::diverging, ThemeName::dark, -5, range) == Rgb{0x5e, 0xbe, 0xff});
    CHECK(colour(MapKind::diverging, ThemeName::light, 5, range) == Rgb{0xb2, 0x18, 0x2b});
    CHECK(colour(MapKind::diverging, ThemeName::light, 99, range) == Rgb{0xb2, 0x18, 0x2b});
    CHECK(colour(MapKind::diverging, ThemeName::light, 2.5, range) == Rgb{0xf4, 0xa5, 0x82});
}

TEST_CASE("colour_map: sequential maps begin at zero", "[viewer]") {
    CHECK(colour(MapKind::sequential, ThemeName::dark, 0, {0, 1}) == Rgb{0x16, 0x19, 0x22});
    CHECK(colour(MapKind::sequential, ThemeName::light, 1, {0, 1}) == Rgb{0x08, 0x30, 0x6b});
    CHECK(colour(MapKind::sequential, ThemeName::light, -1, {0, 1}) == Rgb{0xff, 0xff, 0xff});
}

TEST_CASE("colour_map: NaN and infinity are magenta, an empty range is the centre", "[viewer]") {
    for (const MapKind kind : {MapKind::diverging, MapKind::sequential})
        for (const ThemeName theme : {ThemeName::dark, ThemeName::light})
            for (const double value : {kNaN, kInfinity, -kInfinity})
                CHECK(colour(kind, theme, value, {0, 1}) == Rgb{255, 0, 255});
    CHECK(ValueRange{3, 3}.place(7) == 0.5);
}

TEST_CASE("number_format: fixed decimals, a true minus, no negative zero", "[viewer]") {
    CHECK(fixed(-12.08309, 4) == "\u221212.0831");
    CHECK(fixed(61.1062, 2) == "61.11");
    CHECK(fixed(-0.00001, 3) == "0.000");
    CHECK(fixed(kNaN, 2) == "NaN");
    CHECK(fixed(-kInfinity, 2) == "\u2212\u221e");
}

TEST_CASE("number_format: brief and whole numbers, directions in words", "[viewer]") {
    CHECK(brief(58.7342) == "58.7");
    CHECK(brief(-10) == "\u221210");
    CHECK(whole(-2) == "\u22122");
    CHECK(direction(-2) == "2 to the right");
    CHECK(direction(4) == "4 to the left");
    CHECK(direction(0) == "itself");
}

TEST_CASE("ticks: inside the range, rising, never too many", "[viewer]") {
    CHECK(nice_ticks(0, 40, 5) == std::vector<double>{0, 10, 20, 30, 40});
    CHECK(nice_ticks(3, 3, 5).size() == 1);
    CHECK(nice_ticks(0, kInfinity, 5).empty());
    for (double high = 0.01; high < 1e4; high *= 1.37) {
        const std::vector<double> ticks = nice_ticks(-high / 3, high, 6);
        CHECK((ticks.size() >= 2 && ticks.size() <= 6));
        for (std::size_t n = 0; n < ticks.size(); ++n) {
            CHECK((ticks[n] >= -high / 3 * (1 + 1e-9) && ticks[n] <= high * (1 + 1e-9)));
            if (n > 0) CHECK(ticks[n] > ticks[n - 1]);
        }
    }
    for (const double tick : whole_ticks(-3, 3, 20)) CHECK(tick == std::round(tick));
}

TEST_CASE("heatmap_image: pooling takes means of what is visible; NaN stays", "[viewer]") {
    const Matrix<float> values{{1, 3, 5, 7}, {5, 7, 9, 11}, {10, 20, 30, 40}, {10, 20, 30, 40}};
    const std::vector<CellLevel> levels = pool_levels(values, Mask());
    REQUIRE(levels.size() >= 3);
    CHECK(levels[0].values == values);
    CHECK(levels[1].values == Matrix<float>{{4, 8}, {15, 35}});
    CHECK(levels[2].values(0, 0) == 15.5F);
    Mask visible = Mask::Ones(4, 4);
    visible(0, 0) = visible(0, 1) = visible(1, 0) = 0;
    CHECK(pool_levels(values, visible)[1].values(0, 0) == 7);
    Matrix<float> broken = values;
    broken(0, 0) = std::nanf("");
    CHECK(std::isnan(pool_levels(broken, Mask())[1].values(0, 0)));
    CHECK_THROWS_AS(pool_levels(values, Mask::Ones(3, 4)), Error);
}

TEST_CASE("heatmap_image: the range is symmetric about zero and ignores what is not finite", "[viewer]") {
    const Matrix<float> values{{1, -4}, {std::nanf(""), 2}};
    CHECK(symmetric_range(values, Mask()).low == -4);
    CHECK(symmetric_range(values, Mask()).high == 4);
    CHECK(symmetric_range(Matrix<float>::Zero(2, 2), Mask()).high == 1);
    CHECK(symmetric_range(values, Mask{{1, 0}, {1, 1}}).high == 2);
}

TEST_CASE("matrix_view: zooming keeps the point under the cursor and stays inside", "[viewer]") {
    MatrixView view;
    CHECK(view.shown(64) == 64);
    view.zoom(2, 0.25, 0.5, 64);
    CHECK(view.shown(64) == Approx(32));
    CHECK(view.first_j + 0.25 * view.shown(64) == Approx(16));
    CHECK(view.first_i + 0.5 * view.shown(64) == Approx(32));
    view.pan(-100, -100, 64);
    CHECK(view.first_i <= 64 - view.shown(64) + 1e-9);
    view.reveal(0, 0, 64);
    CHECK(view.first_i == Approx(0));
    view.zoom(1e-9, 0.5, 0.5, 64);
    CHECK(view.shown(64) == Approx(64));
}
