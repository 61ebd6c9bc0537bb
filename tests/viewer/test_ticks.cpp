#include "viewer/plots/ticks.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace locus::test::test_ticks {

using Ticks = std::vector<double>;

TEST_CASE("ticks: multiples of 1, 2 or 5 inside the range", "[viewer]") {
    CHECK(nice_ticks(0, 42, 5) == Ticks{0, 10, 20, 30, 40});
    CHECK(nice_ticks(0, 10, 6) == Ticks{0, 2, 4, 6, 8, 10});
    CHECK(nice_ticks(-3, 3, 3) == Ticks{-2, 0, 2});
}

TEST_CASE("ticks: never more than asked for, and at least two where three are allowed", "[viewer]") {
    for (double high = 1e-6; high < 1e7; high *= 1.3)
        for (int at_most = 3; at_most <= 9; ++at_most) {
            const Ticks ticks = nice_ticks(0, high, at_most);
            INFO("0 to " << high << ", at most " << at_most);
            CHECK(static_cast<int>(ticks.size()) <= at_most);
            CHECK(ticks.front() == 0);
            CHECK(ticks.back() <= high * (1 + 1e-9));
            CHECK(ticks.size() >= 2);
        }
}

TEST_CASE("ticks: whole numbers where only whole numbers mean something", "[viewer]") {
    CHECK(whole_ticks(-1, 1, 9) == Ticks{-1, 0, 1});
    for (const double tick : whole_ticks(-2.5, 3.5, 12)) CHECK(tick == std::round(tick));
}

TEST_CASE("ticks: a range of one value, and ranges that are none", "[viewer]") {
    CHECK(nice_ticks(3, 3, 5) == Ticks{3});
    CHECK(nice_ticks(4, 3, 5).empty());
    CHECK(nice_ticks(0, std::numeric_limits<double>::infinity(), 5).empty());
    CHECK(nice_ticks(std::numeric_limits<double>::quiet_NaN(), 1, 5).empty());
}

TEST_CASE("ticks: zero has no sign", "[viewer]") {
    // The first multiple at or above -0.1 is zero, reached from below.
    const Ticks ticks = nice_ticks(-0.1, 1, 3);
    REQUIRE(ticks.front() == 0);
    CHECK_FALSE(std::signbit(ticks.front()));
}

TEST_CASE("ticks: as many decimals as neighbours need", "[viewer]") {
    CHECK(tick_decimals({0, 10, 20}) == 0);
    CHECK(tick_decimals({0, 0.5, 1}) == 1);
    CHECK(tick_decimals(nice_ticks(0, 0.1, 5)) == 2);
}

}  // namespace locus::test::test_ticks
