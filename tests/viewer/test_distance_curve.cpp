#include "viewer/plots/distance_curve.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace locus::test::test_distance_curve {

TEST_CASE("distance_curve: the mean magnitude of every diagonal, keys at the right first", "[viewer]") {
    Matrix<float> term(3, 3);
    term << 1, -2, 9, 4, -3, 2, -7, 6, 5;
    // offsets -2 (j right of i) ... 2
    CHECK(strength_by_distance(term, {}) == std::vector<double>{9, 2, 3, 5, 7});
}

TEST_CASE("distance_curve: hidden pairs do not count, and a diagonal without pairs has no value", "[viewer]") {
    Matrix<float> term(2, 2);
    term << 1, 50, 4, 3;
    Mask visible(2, 2);
    visible << 1, 0, 1, 0;
    const std::vector<double> curve = strength_by_distance(term, visible);
    REQUIRE(curve.size() == 3);
    CHECK(std::isnan(curve[0]));
    CHECK(curve[1] == 1);
    CHECK(curve[2] == 4);
}

TEST_CASE("distance_curve: one token has one distance", "[viewer]") {
    CHECK(strength_by_distance(Matrix<float>::Constant(1, 1, -2.0f), {}) == std::vector<double>{2});
}

TEST_CASE("distance_curve: a term that is not square is refused", "[viewer]") {
    CHECK_THROWS_AS(strength_by_distance(Matrix<float>::Ones(2, 3), {}), Error);
    CHECK_THROWS_AS(strength_by_distance(Matrix<float>::Ones(2, 2), Mask::Ones(3, 3)), Error);
}

}  // namespace locus::test::test_distance_curve
