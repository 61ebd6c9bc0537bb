// What a head has learnt of distance: products with the row of every offset.
#include "viewer/plots/learned_curve.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/check.h"

namespace locus::test::test_learned_curve {

TEST_CASE("learned curve: every offset takes the row that the line gives it", "[view][training]") {
    // 4 rows for offsets clamped to -2 ... 1.
    const RelativeBuckets line = RelativeBuckets::clamped(4, 4, 2);
    Matrix<float> contents(2, 2), table(4, 2);
    contents << 1, 0, 2, 10;
    table << 1, 5, 2, 6, 3, 7, 4, 8;
    const Matrix<float> products = distance_products(contents, table, line, 3);
    Matrix<float> expected(2, 7);     // offsets -3 ... 3
    expected << 1, 1, 2, 3, 4, 4, 4,  //
        52, 52, 64, 76, 88, 88, 88;
    CHECK(products == expected);
    CHECK(mean_of_rows(products) == std::vector<double>{26.5, 26.5, 33, 39.5, 46, 46, 46});
    CHECK(std::isnan(mean_of_rows(Matrix<float>(0, 1)).front()));
}

TEST_CASE("learned curve: what does not fit is refused", "[view][training]") {
    const RelativeBuckets line = RelativeBuckets::clamped(4, 4, 2);
    const Matrix<float> two = Matrix<float>::Ones(3, 2), table = Matrix<float>::Ones(4, 2);
    CHECK_NOTHROW(distance_products(two, table, line, 3));
    CHECK_THROWS_AS(distance_products(two, table, line, 4), Error);
    CHECK_THROWS_AS(distance_products(two, table, line, -1), Error);
    CHECK_THROWS_AS(distance_products(Matrix<float>::Ones(3, 3), table, line, 3), Error);
    CHECK_THROWS_AS(distance_products(two, Matrix<float>::Ones(5, 2), line, 3), Error);
}

}  // namespace locus::test::test_learned_curve
