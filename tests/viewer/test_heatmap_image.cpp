#include "viewer/plots/heatmap_image.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace locus::test::test_heatmap_image {

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
    CHECK(symmetric_range(values, {}).high == 50);
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

}  // namespace locus::test::test_heatmap_image
