#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "viewer/plots/number_format.h"
#include "viewer/plots/plot_layout.h"

namespace locus::test::test_plot_layout {

TEST_CASE("number_format: fixed decimals with a true minus and no negative zero", "[viewer]") {
    CHECK(fixed(-12.08309, 4) == "\u221212.0831");
    CHECK(fixed(61.1062, 2) == "61.11");
    CHECK(fixed(-0.00001, 3) == "0.000");
    CHECK(fixed(-0.0006, 3) == "\u22120.001");
    CHECK(fixed(7, 0) == "7");
}

TEST_CASE("number_format: what is no number says so", "[viewer]") {
    CHECK(fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "NaN");
    CHECK(fixed(std::numeric_limits<double>::infinity(), 2) == "\u221e");
    CHECK(fixed(-std::numeric_limits<double>::infinity(), 2) == "\u2212\u221e");
    CHECK(brief(std::numeric_limits<double>::quiet_NaN()) == "NaN");
}

TEST_CASE("number_format: brief numbers keep about three digits and no empty zeros", "[viewer]") {
    CHECK(brief(58.7342) == "58.7");
    CHECK(brief(5.7437) == "5.74");
    CHECK(brief(0.25) == "0.25");
    CHECK(brief(24.03) == "24");
    CHECK(brief(-10) == "\u221210");
    CHECK(brief(0) == "0");
    CHECK(brief(1234.5) == "1234");
    CHECK(brief(9.57) == "9.57");
    CHECK(brief(0.1234) == "0.123");
    CHECK(brief(0.00123) == "0.001");
    CHECK(brief(999.96) == "1000");
    CHECK(brief(2500000) == "2.5e+06");
    CHECK(brief(1.23e-7) == "1.2e\u221207");
}

TEST_CASE("number_format: a value that six decimals say too little of is written in powers of ten", "[viewer]") {
    CHECK(precise(0.0025) == "0.002500");
    CHECK(precise(-9.27803376) == "\u22129.278034");
    CHECK(precise(0) == "0.000000");
    CHECK(precise(-1.07283e-6) == "\u22121.0728e\u221206");
    CHECK(precise(9.99e-4) == "9.9900e\u221204");
    CHECK(precise(std::numeric_limits<double>::quiet_NaN()) == "NaN");
}

TEST_CASE("number_format: compact numbers leave their place to nobody and keep digits that count", "[viewer]") {
    CHECK(compact(61.1062, 4) == "61.1062");
    CHECK(compact(0, 4) == "0.0000");
    CHECK(compact(99999, 2) == "99999.00");
    CHECK(compact(-4.0593153e20, 4) == "\u22124.06e+20");
    CHECK(compact(1e5, 4, 1) == "1.0e+05");
    CHECK(compact(0.001, 4) == "0.0010");
    CHECK(compact(0.00012345, 3) == "1.23e\u221204");
    CHECK(compact(std::numeric_limits<double>::infinity(), 4) == "\u221e");
    CHECK(compact(std::numeric_limits<double>::quiet_NaN(), 4) == "NaN");
}

TEST_CASE("number_format: whole numbers in groups of three from five digits on", "[viewer]") {
    CHECK(whole(-2) == "\u22122");
    CHECK(grouped(9999) == "9999");
    CHECK(grouped(12345) == "12 345");
    CHECK(grouped(-1234567) == "\u22121 234 567");
    CHECK(grouped(100000) == "100 000");
}

TEST_CASE("number_format: i - j tells on which side the key stands", "[viewer]") {
    CHECK(direction(-2) == "2 to the right");
    CHECK(direction(4) == "4 to the left");
    CHECK(direction(0) == "itself");
}

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
    CHECK(whole_ticks(-401, 401, 4) == Ticks{-400, 0, 400});  // five are too many, and of 500 there is one alone
    CHECK(whole_ticks(-401, 401, 2) == Ticks{-400, 400});
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

TEST_CASE("ticks: as many decimals as neighbours need, and powers of ten where they would be long", "[viewer]") {
    const auto labels = [](const Ticks& ticks) {
        std::vector<std::string> words;
        for (const double tick : ticks) words.push_back(tick_label(tick, ticks));
        return words;
    };
    using Words = std::vector<std::string>;
    CHECK(labels({0, 10, 20}) == Words{"0", "10", "20"});
    CHECK(labels({-0.5, 0, 0.5, 1}) == Words{"\u22120.5", "0.0", "0.5", "1.0"});
    CHECK(labels(nice_ticks(0, 0.1, 6)) == Words{"0.00", "0.02", "0.04", "0.06", "0.08", "0.10"});
    CHECK(labels({0, 0.0005}) == Words{"0.0000", "0.0005"});
    CHECK(labels(nice_ticks(0, 4.2e-6, 6)) == Words{"0", "1e\u221206", "2e\u221206", "3e\u221206", "4e\u221206"});
    CHECK(labels({-5e-6, 0, 5e-6, 1e-5}) == Words{"\u22125e\u221206", "0", "5e\u221206", "1e\u221205"});
    CHECK(labels({0, 2.5e-6, 5e-6}) == Words{"0", "2.5e\u221206", "5.0e\u221206"});
    CHECK(labels({0, 500000, 1000000}) == Words{"0", "5e+05", "1e+06"});
    for (double high = 1e-300; high < 1e300; high *= 7) {
        const Words words = labels(nice_ticks(0, high, 6));
        for (const std::string& word : words) CHECK(word.size() <= 11);
        CHECK(std::set<std::string>(words.begin(), words.end()).size() == words.size());
    }
}

}  // namespace locus::test::test_plot_layout
