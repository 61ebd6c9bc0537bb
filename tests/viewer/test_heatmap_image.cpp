#include "viewer/plots/heatmap_image.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace locus;

namespace {

const ColourMap& dark() { return ColourMap::of_theme(MapKind::diverging, ThemeName::dark); }

}  // namespace

TEST_CASE("heatmap_image: every level is the mean of the one before", "[viewer]") {
    Matrix<float> values(4, 4);
    for (Index n = 0; n < 16; ++n) values.data()[n] = static_cast<float>(n);
    const auto levels = pool_levels(values, {});
    REQUIRE(levels.size() == 3);
    Matrix<float> half(2, 2);
    half << 2.5f, 4.5f, 10.5f, 12.5f;
    CHECK(levels[1].values == half);
    CHECK(levels[2].values(0, 0) == 7.5f);
}

TEST_CASE("heatmap_image: odd sizes are pooled without losing a cell", "[viewer]") {
    const Matrix<float> values = Matrix<float>::Constant(7, 5, 3.0f);
    const auto levels = pool_levels(values, {});
    REQUIRE(levels.size() == 3);
    CHECK(levels[1].values == Matrix<float>::Constant(3, 2, 3.0f));

    Matrix<float> corner = Matrix<float>::Zero(3, 3);
    corner(2, 2) = 9;  // the last row and column belong to the only block there is
    CHECK(pool_levels(corner, {})[1].values(0, 0) == 1.0f);
}

TEST_CASE("heatmap_image: NaN shows through every level", "[viewer]") {
    Matrix<float> values = Matrix<float>::Ones(8, 8);
    values(5, 2) = std::numeric_limits<float>::quiet_NaN();
    for (const CellLevel& level : pool_levels(values, {})) CHECK(level.values.hasNaN());
}

TEST_CASE("heatmap_image: hidden cells do not count in means, and a block of them stays hidden", "[viewer]") {
    Matrix<float> values(2, 4);
    values << 1, 1, 5, 100, 1, 1, 7, 100;
    Mask visible(2, 4);
    visible << 0, 0, 1, 0, 0, 0, 1, 0;
    const CellLevel half = pool_levels(values, visible)[1];
    CHECK(half.hidden(0, 0) == 1);
    CHECK(half.hidden(0, 1) == 0);
    CHECK(half.values(0, 1) == 6.0f);
}

TEST_CASE("heatmap_image: a mask of another shape is refused", "[viewer]") {
    const Matrix<float> values = Matrix<float>::Ones(3, 3);
    CHECK_THROWS_AS(pool_levels(values, Mask::Ones(3, 2)), Error);
    CHECK_THROWS_AS(pool_levels(Matrix<float>(0, 0), {}), Error);
}

TEST_CASE("heatmap_image: the first row of the matrix is the first row of pixels", "[viewer]") {
    Matrix<float> values(2, 2);
    values << -1, 0, 1, std::nanf("");
    const Pixels pixels = paint({values, {}}, dark(), {-1, 1}, {});
    REQUIRE(pixels.width == 2);
    REQUIRE(pixels.height == 2);
    const std::vector<std::uint8_t> expected = {0x5e, 0xbe, 0xff, 255, 0x18, 0x1c, 0x24, 255,
                                                0xff, 0xb2, 0x78, 255, 255,  0,    255,  255};
    CHECK(pixels.rgba == expected);
}

TEST_CASE("heatmap_image: hidden cells take the colour of hidden cells, whatever they hold", "[viewer]") {
    CellLevel level{Matrix<float>::Constant(1, 1, std::nanf("")), Mask::Ones(1, 1)};
    CHECK(paint(level, dark(), {-1, 1}, {1, 2, 3}).rgba == std::vector<std::uint8_t>{1, 2, 3, 255});
}

TEST_CASE("heatmap_image: the symmetric range sees visible finite values only", "[viewer]") {
    Matrix<float> values(1, 4);
    values << -2, 3, 50, std::numeric_limits<float>::infinity();
    Mask visible(1, 4);
    visible << 1, 1, 0, 1;
    CHECK(symmetric_range(values, visible).high == 3);
    CHECK(symmetric_range(values, visible).low == -3);
    CHECK(symmetric_range(Matrix<float>::Zero(2, 2), {}).high == 1);
}

TEST_CASE("heatmap_image: pooled columns are means and use every column once", "[viewer]") {
    Matrix<float> values(1, 5);
    values << 1, 3, 5, 7, 9;
    const Matrix<float> pooled = pool_columns(values, 2);
    REQUIRE(pooled.cols() == 2);
    CHECK(pooled(0, 0) == 2);
    CHECK(pooled(0, 1) == 7);
    CHECK(pool_columns(values, 9) == values);
}

TEST_CASE("heatmap: pooling by the largest loses no single bright cell, whatever its sign", "[viewer]") {
    Matrix<float> values = Matrix<float>::Constant(8, 8, 0.25f);
    values(5, 2) = -9;
    const auto largest = pool_levels(values, {}, Pooling::largest);
    for (const CellLevel& level : largest) CHECK(level.values.minCoeff() == -9);
    CHECK(pool_levels(values, {}).back().values.minCoeff() > -1);
    values(0, 0) = std::numeric_limits<float>::quiet_NaN();
    for (const CellLevel& level : pool_levels(values, {}, Pooling::largest)) CHECK(std::isnan(level.values(0, 0)));
}
