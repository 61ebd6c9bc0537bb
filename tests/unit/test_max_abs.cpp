#include "tests/max_abs.h"

#include <catch2/catch.hpp>
#include <limits>

#include "core/tensor.h"

namespace locus::test::test_max_abs {

TEST_CASE("max_abs: a NaN is passed over nowhere, and passes no comparison", "[structure]") {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    Matrix<double> x = Matrix<double>::Random(5, 7);
    CHECK(max_abs(x) == std::max(x.maxCoeff(), -x.minCoeff()));
    for (Index n = 0; n < x.size(); ++n) {
        Matrix<double> damaged = x;
        damaged.data()[n] = kNan;
        CHECK_FALSE(max_abs(damaged) <= 1);
        CHECK_FALSE(max_abs(damaged) > 0);
        CHECK_FALSE(max_abs(damaged.array() - 1) <= 3);
    }
    x(2, 3) = -std::numeric_limits<double>::infinity();
    CHECK_FALSE(max_abs(x) <= 1e300);
    CHECK(max_abs(Matrix<double>(0, 4)) == 0);
}

}  // namespace locus::test::test_max_abs
