// What stands for many cells when a cell is smaller than a pixel.
#include "viewer/plots/pyramid.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/check.h"

namespace locus::test::test_pyramid {

namespace {

constexpr Pooling kPoolings[] = {Pooling::mean, Pooling::largest, Pooling::high, Pooling::low};

Matrix<float> counted(Index rows, Index cols) {
    Matrix<float> values(rows, cols);
    for (Index n = 0; n < values.size(); ++n) values.data()[n] = static_cast<float>(n);
    return values;
}

}  // namespace

TEST_CASE("pyramid: a level is the mean of the one before", "[viewer][pyramid]") {
    Pyramid pyramid(counted(4, 4), {}, Pooling::mean);
    Matrix<float> half(2, 2);
    half << 2.5f, 4.5f, 10.5f, 12.5f;
    CHECK(pyramid.level({1, 1}).values == half);
    CHECK(pyramid.level({2, 2}).values(0, 0) == 7.5f);
}

TEST_CASE("pyramid: rows and columns are halved apart, so that few rows survive many columns", "[viewer][pyramid]") {
    Pyramid pyramid(counted(3, 8), {}, Pooling::mean);
    Matrix<float> narrow(3, 2);
    narrow << 1.5f, 5.5f, 9.5f, 13.5f, 17.5f, 21.5f;
    CHECK(pyramid.level({0, 2}).values == narrow);
    CHECK(pyramid.detail_for(0.01, 4) == Detail{0, 2});
}

TEST_CASE("pyramid: odd sizes are pooled without losing a cell", "[viewer][pyramid]") {
    for (const Pooling pooling : kPoolings)
        CHECK(Pyramid(Matrix<float>::Constant(7, 5, 3.0f), {}, pooling).level({1, 1}).values ==
              Matrix<float>::Constant(3, 2, 3.0f));
    Matrix<float> corner = Matrix<float>::Zero(3, 3);
    corner(2, 2) = 9;  // the last row and column belong to the only block there is
    CHECK(Pyramid(corner, {}, Pooling::mean).level({1, 1}).values(0, 0) == 1.0f);
    CHECK(Pyramid(corner, {}, Pooling::high).level({1, 1}).values(0, 0) == 9.0f);
}

TEST_CASE("pyramid: one bright cell anywhere is on every level", "[viewer][pyramid]") {
    for (const float bright : {9.0f, -9.0f})
        for (Index n = 0; n < 11 * 13; ++n) {
            Matrix<float> values = Matrix<float>::Constant(11, 13, 0.25f);
            values.data()[n] = bright;
            Pyramid pyramid(values, {}, Pooling::largest);
            for (const Detail detail : {Detail{1, 1}, Detail{2, 1}, Detail{3, 3}}) {
                const Matrix<float>& pooled = pyramid.level(detail).values;
                CHECK((pooled.array() == bright).count() == 1);
            }
        }
}

TEST_CASE("pyramid: greatest and least know signs", "[viewer][pyramid]") {
    Matrix<float> values(2, 2);
    values << -4, -1, -2, -3;
    CHECK(Pyramid(values, {}, Pooling::high).level({1, 1}).values(0, 0) == -1);
    CHECK(Pyramid(values, {}, Pooling::low).level({1, 1}).values(0, 0) == -4);
    CHECK(Pyramid(values, {}, Pooling::largest).level({1, 1}).values(0, 0) == -4);
    CHECK(Pyramid(values, {}, Pooling::mean).level({1, 1}).values(0, 0) == -2.5f);
}

TEST_CASE("pyramid: pooled another way, every level is made anew", "[viewer][pyramid]") {
    Matrix<float> values(2, 2);
    values << -4, -1, -2, -3;
    Pyramid pyramid(values, {}, Pooling::largest);
    CHECK(pyramid.level({1, 1}).values(0, 0) == -4);
    pyramid.pool_by(Pooling::mean);
    CHECK(pyramid.pooling() == Pooling::mean);
    CHECK(pyramid.level({1, 1}).values(0, 0) == -2.5f);
    CHECK(pyramid.base().values() == values);
}

TEST_CASE("pyramid: NaN shows through every level, whatever pools", "[viewer][pyramid]") {
    for (const Pooling pooling : kPoolings) {
        Matrix<float> values = Matrix<float>::Ones(8, 8);
        values(5, 2) = std::numeric_limits<float>::quiet_NaN();
        values(1, 1) = -7;
        Pyramid pyramid(values, {}, pooling);
        for (const int n : {1, 2, 3}) CHECK(pyramid.level({n, n}).values.hasNaN());
    }
}

TEST_CASE("pyramid: hidden cells do not count, and a block of them stays hidden", "[viewer][pyramid]") {
    Matrix<float> values(2, 4);
    values << 1, 1, 5, 100, 1, 1, 7, 100;
    Mask visible(2, 4);
    visible << 0, 0, 1, 0, 0, 0, 1, 0;
    const CellLevel mean = Pyramid(values, visible, Pooling::mean).level({1, 1});
    CHECK(mean.hidden(0, 0) == 1);
    CHECK(mean.hidden(0, 1) == 0);
    CHECK(mean.values(0, 1) == 6.0f);
    CHECK(Pyramid(values, visible, Pooling::largest).level({1, 1}).values(0, 1) == 7.0f);
    CHECK(Pyramid(values, visible, Pooling::low).level({1, 1}).values(0, 1) == 5.0f);
}

TEST_CASE("pyramid: a block is never smaller than a pixel, nor twice as large without need", "[viewer][pyramid]") {
    const Pyramid pyramid(Matrix<float>::Zero(4096, 300), {}, Pooling::mean);
    for (double cells = 0.1; cells < 4096; cells *= 1.07) {
        INFO(cells);
        const Detail detail = pyramid.detail_for(cells, cells);
        if ((300 >> detail.cols) > 1) CHECK(std::ldexp(1.001, detail.cols) >= cells);
        CHECK(std::ldexp(1.001, detail.rows) >= cells);
        if (detail.rows > 0) CHECK(std::ldexp(1.0, detail.rows - 1) < cells);
    }
    CHECK(pyramid.detail_for(1, 1) == Detail{0, 0});
}

TEST_CASE("pyramid: the matrix itself is looked at, not copied", "[viewer][pyramid]") {
    const auto owner = std::make_shared<const Matrix<float>>(counted(6, 6));
    const SharedMatrix shared(owner, *owner);
    CHECK(shared.values().data() == owner->data());
    const Pyramid pyramid(shared, {}, Pooling::mean);
    CHECK(pyramid.base().values().data() == owner->data());
    CHECK(owner.use_count() == 3);

    Matrix<float> own = counted(3, 3);
    const float* place = own.data();
    CHECK(SharedMatrix(std::move(own)).values().data() == place);
}

TEST_CASE("pyramid: a mask of another shape and a matrix without cells are refused", "[viewer][pyramid]") {
    CHECK_THROWS_AS(Pyramid(Matrix<float>(Matrix<float>::Ones(3, 3)), Mask::Ones(3, 2), Pooling::mean), Error);
    CHECK_THROWS_AS(Pyramid(Matrix<float>(0, 0), {}, Pooling::mean), Error);
}

}  // namespace locus::test::test_pyramid
