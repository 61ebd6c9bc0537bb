#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "viewer/plots/colour_map.h"

namespace locus::test::test_colours {

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

namespace {

const ColourMap& dark() { return ColourMap::of_theme(MapKind::diverging, ThemeName::dark); }

}  // namespace

TEST_CASE("heatmap_image: the first row of the matrix is the first row of pixels", "[viewer]") {
    Matrix<float> values(2, 2);
    values << -1, 0, 1, std::nanf("");
    const Pixels pixels = paint(values, {}, {0, 0, 2, 2}, dark(), {-1, 1}, {});
    REQUIRE(pixels.width == 2);
    REQUIRE(pixels.height == 2);
    const std::vector<std::uint8_t> expected = {0x5e, 0xbe, 0xff, 255, 0x18, 0x1c, 0x24, 255,
                                                0xff, 0xb2, 0x78, 255, 255,  0,    255,  255};
    CHECK(pixels.rgba == expected);
}

TEST_CASE("heatmap_image: a block is the part of the whole picture where it lies", "[viewer]") {
    Matrix<float> values(5, 7);
    for (Index n = 0; n < values.size(); ++n) values.data()[n] = static_cast<float>(n) / 34;
    Mask hidden = Mask::Zero(5, 7);
    hidden(3, 4) = 1;
    const Pixels whole = paint(values, hidden, {0, 0, 5, 7}, dark(), {0, 1}, {1, 2, 3});
    const Pixels part = paint(values, hidden, {2, 3, 3, 2}, dark(), {0, 1}, {1, 2, 3});
    CHECK(part.rgba[(1 * 2 + 1) * 4] == 1);  // cell (3, 4)
    REQUIRE(part.width == 2);
    REQUIRE(part.height == 3);
    for (std::size_t y = 0; y < 3; ++y)
        for (std::size_t x = 0; x < 2 * 4; ++x) CHECK(part.rgba[y * 8 + x] == whole.rgba[((y + 2) * 7 + 3) * 4 + x]);
}

TEST_CASE("heatmap_image: hidden cells take the colour of hidden cells, whatever they hold", "[viewer]") {
    const Matrix<float> values = Matrix<float>::Constant(1, 1, std::nanf(""));
    CHECK(paint(values, Mask::Ones(1, 1), {0, 0, 1, 1}, dark(), {-1, 1}, {1, 2, 3}).rgba ==
          std::vector<std::uint8_t>{1, 2, 3, 255});
}

TEST_CASE("heatmap_image: the symmetric range sees visible finite values only", "[viewer]") {
    Matrix<float> values(1, 4);
    values << -2, 3, 50, std::numeric_limits<float>::infinity();
    Mask visible(1, 4);
    visible << 1, 1, 0, 1;
    CHECK(symmetric_range(values, visible).high == 3);
    CHECK(symmetric_range(values, visible).low == -3);
    values(0, 0) = -7;
    CHECK(symmetric_range(values, visible).high == 7);  // the largest may be below zero
    // Probabilities share one scale, unless they would all be dark on it.
    CHECK(probability_range(Matrix<float>::Constant(2, 2, 0.5f)).high == 1);
    CHECK(probability_range(Matrix<float>::Constant(2, 2, 0.25f)).high == 1);
    CHECK(probability_range(Matrix<float>::Constant(2, 2, 0.125f)).high == 0.125);
    CHECK(probability_range(Matrix<float>::Zero(2, 2)).high == 1);
    CHECK(probability_range(Matrix<float>::Constant(2, 2, static_cast<float>(kNan))).high == 1);
    CHECK(symmetric_range(values, {}).high == 50);
    CHECK(symmetric_range(Matrix<float>::Zero(2, 2), {}).high == 1);
}

TEST_CASE("heatmap_image: pooled columns are means and use every column once", "[viewer]") {
    Matrix<float> values(1, 5);
    values << 1, 3, 5, 7, 9;
    const Matrix<float> pooled = pool_columns(values, 2);
    REQUIRE(pooled.cols() == 3);
    CHECK(pooled(0, 0) == 2);
    CHECK(pooled(0, 1) == 6);
    CHECK(pooled(0, 2) == 9);  // alone: column c of the picture begins at 2 c
    CHECK(pool_columns(values, 1) == values);
    CHECK(columns_in_one(6016, 4096) == 2);
    CHECK(columns_in_one(4096, 4096) == 1);
    CHECK(columns_in_one(4097, 4096) == 2);
    CHECK(columns_in_one(1, 32) == 1);
}

// Text can be read in every theme, and no map relies on telling red from green.

namespace {

constexpr ThemeName kAll[] = {ThemeName::dark, ThemeName::light, ThemeName::contrast};
using Linear = std::array<double, 3>;

Linear linear(Rgb colour) {
    const auto part = [](std::uint8_t value) {
        const double v = value / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return {part(colour.r), part(colour.g), part(colour.b)};
}

/// Relative luminance, WCAG 2.1.
double luminance(const Linear& c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; }

/// Contrast ratio, WCAG 2.1: 1 ... 21.
double contrast(Rgb a, Rgb b) {
    const double first = luminance(linear(a)), second = luminance(linear(b));
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

double distance(Rgb a, Rgb b) {
    const double r = a.r - b.r, g = a.g - b.g, blue = a.b - b.b;
    return std::sqrt(r * r + g * g + blue * blue);
}

enum class Eye { protan, deutan };

/// What an eye without one kind of cone sees.  Machado, Oliveira and Fernandes 2009, severity 1, on linear values.
Linear seen_by(Eye eye, Rgb colour) {
    constexpr double kProtan[3][3] = {
        {0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}};
    constexpr double kDeutan[3][3] = {
        {0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}};
    const Linear from = linear(colour);
    Linear to{};
    for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 3; ++column)
            to[row] += (eye == Eye::protan ? kProtan : kDeutan)[row][column] * from[column];
    return to;
}

/// Lightness and the two opponent colours, CIE 1976 (L*, a*, b*), white of D65.
Linear lab(const Linear& c) {
    const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
    const double x = (0.4124 * c[0] + 0.3576 * c[1] + 0.1805 * c[2]) / 0.95047;
    const double y = luminance(c);
    const double z = (0.0193 * c[0] + 0.1192 * c[1] + 0.9505 * c[2]) / 1.08883;
    return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

double difference(const Linear& a, const Linear& b) {
    const Linear p = lab(a), q = lab(b);
    return std::sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
}

}  // namespace

TEST_CASE("matrices: a number can be read on every colour of every map", "[viewer][desk]") {
    for (const ThemeName name : kAll)
        for (const MapKind kind : {MapKind::diverging, MapKind::sequential, MapKind::c2c, MapKind::c2p, MapKind::p2c})
            for (int n = 0; n <= 200; ++n) {
                const Rgb ground = ColourMap::of_theme(kind, name).at(n / 200.0);
                CHECK(contrast(ink_on(ground), ground) >= 4.5);
            }
}

TEST_CASE("themes: a transparent colour is seen between itself and its ground", "[viewer][desk]") {
    const Rgb half = blended({255, 255, 255}, 0.5, {0, 0, 0});
    CHECK((half.r == 128 && half.g == 128 && half.b == 128));
    CHECK(distance(blended({10, 200, 30}, 1, {0, 0, 0}), {10, 200, 30}) == 0);
    CHECK(distance(blended({10, 200, 30}, 0, {255, 255, 255}), {255, 255, 255}) == 0);
}

TEST_CASE("themes: text stands out from what it is written on", "[viewer][desk]") {
    for (const ThemeName name : kAll) {
        const ThemeColours& c = theme_colours(name);
        const bool high = name == ThemeName::contrast;
        INFO(kThemeNames[static_cast<std::size_t>(name)]);
        for (const Rgb ground : {c.background, c.panel}) {
            CHECK(contrast(c.text, ground) >= (high ? 7 : 4.5));
            CHECK(contrast(c.muted, ground) >= (high ? 7 : 4.5));
            CHECK(contrast(c.fault, ground) >= (high ? 7 : 4.5));
            // Names of terms are large or stand beside a mark of the same colour: WCAG asks 3 of these.
            for (const Rgb term : {c.c2c, c.c2p, c.p2c, c.p2p, c.accent})
                CHECK(contrast(term, ground) >= (high ? 7 : 3));
        }
        CHECK(contrast(c.text, c.chip) >= (high ? 7 : 4.5));
        CHECK(contrast(c.muted, c.chip) >= (high ? 7 : 4.5));
        CHECK(contrast(c.on_accent, c.accent) >= (high ? 7 : 3));
        if (high) CHECK(contrast(c.line, c.background) >= 7);
    }
}

TEST_CASE("themes: the three terms differ for every eye", "[viewer][desk]") {
    for (const ThemeName name : kAll) {
        const ThemeColours& c = theme_colours(name);
        for (const Eye eye : {Eye::protan, Eye::deutan}) {
            INFO(kThemeNames[static_cast<std::size_t>(name)]);
            CHECK(difference(seen_by(eye, c.c2c), seen_by(eye, c.c2p)) > 20);
            CHECK(difference(seen_by(eye, c.c2c), seen_by(eye, c.p2c)) > 20);
            CHECK(difference(seen_by(eye, c.c2p), seen_by(eye, c.p2c)) > 20);
        }
    }
}

TEST_CASE("maps: lightness goes one way along every map, for every eye", "[viewer][desk]") {
    for (const ThemeName name : kAll)
        for (const Eye eye : {Eye::protan, Eye::deutan}) {
            INFO(kThemeNames[static_cast<std::size_t>(name)]);
            const ColourMap& up = ColourMap::of_theme(MapKind::sequential, name);
            const ColourMap& both = ColourMap::of_theme(MapKind::diverging, name);
            const double way = name == ThemeName::light ? -1 : 1;  // towards the end lighter on dark, darker on light
            const auto lightness = [&](const ColourMap& map, double at) { return lab(seen_by(eye, map.at(at)))[0]; };
            for (int n = 0; n < 32; ++n) {
                CHECK(way * (lightness(up, (n + 1) / 32.0) - lightness(up, n / 32.0)) > 0);
                // From the middle outwards, on either side.
                CHECK(way * (lightness(both, 0.5 + (n + 1) / 64.0) - lightness(both, 0.5 + n / 64.0)) > 0);
                CHECK(way * (lightness(both, 0.5 - (n + 1) / 64.0) - lightness(both, 0.5 - n / 64.0)) > 0);
            }
            for (const MapKind term : {MapKind::c2c, MapKind::c2p, MapKind::p2c})
                for (int n = 0; n < 32; ++n) {
                    const ColourMap& map = ColourMap::of_theme(term, name);
                    CHECK(way * (lightness(map, (n + 1) / 32.0) - lightness(map, n / 32.0)) > 0);
                }
            // The same size with the other sign is another colour.
            for (const double size : {0.25, 0.5})
                CHECK(difference(seen_by(eye, both.at(0.5 - size)), seen_by(eye, both.at(0.5 + size))) > 40);
        }
}

TEST_CASE("maps: a term's map holds the term's colour, and every map begins where nothing is seen", "[viewer][desk]") {
    for (const ThemeName name : kAll) {
        INFO(kThemeNames[static_cast<std::size_t>(name)]);
        const ThemeColours& c = theme_colours(name);
        CHECK(ColourMap::of_theme(MapKind::c2c, name).at(0.75) == c.c2c);
        CHECK(ColourMap::of_theme(MapKind::c2p, name).at(0.75) == c.c2p);
        CHECK(ColourMap::of_theme(MapKind::p2c, name).at(0.75) == c.p2c);
        for (const MapKind kind : {MapKind::sequential, MapKind::c2c, MapKind::c2p, MapKind::p2c})
            CHECK(contrast(ColourMap::of_theme(kind, name).at(0), c.panel) < 1.05);
        CHECK(contrast(ColourMap::of_theme(MapKind::diverging, name).at(0.5), c.panel) < 1.1);
    }
}

TEST_CASE("maps: what is no number is told from every value and from hidden cells", "[viewer][desk]") {
    for (const ThemeName name : kAll) {
        CHECK(distance(kNotANumber, theme_colours(name).hidden) > 100);
        for (const MapKind kind : {MapKind::diverging, MapKind::sequential, MapKind::c2c, MapKind::c2p, MapKind::p2c})
            for (int n = 0; n <= 64; ++n)
                CHECK(distance(kNotANumber, ColourMap::of_theme(kind, name).at(n / 64.0)) > 100);
    }
}

}  // namespace locus::test::test_colours
