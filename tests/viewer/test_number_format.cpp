#include "viewer/plots/number_format.h"

#include <catch2/catch.hpp>
#include <limits>

namespace locus::test::test_number_format {

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

}  // namespace locus::test::test_number_format
