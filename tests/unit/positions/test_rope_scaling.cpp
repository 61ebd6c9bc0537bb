#include <catch2/catch.hpp>
#include <cmath>

#include "core/positions/rope_scaling.h"
#include "core/products.h"
#include "tests/files.h"
#include "tests/max_abs.h"

namespace locus::test::test_rope_scaling {

TEST_CASE("rope scaling: interpolation is a text squeezed into the old length", "[rope][law]") {
    const RopeFrequencies plain = rope_frequencies(16, {}, 0),
                          linear = rope_frequencies(16, parse_rope_scaling("linear,4"), 0);
    for (std::size_t t = 0; t < 8; ++t) CHECK(linear.theta[t] * 4 == plain.theta[t]);
    const auto squeezed = rotary_table<double>(linear.theta, 0, 13), old = rotary_table<double>(plain.theta, 0, 4);
    for (Index m = 0; m < 4; ++m) CHECK(max_abs(squeezed.sin.row(4 * m) - old.sin.row(m)) <= 1e-15);
}

TEST_CASE("rope scaling: golden NTK, d = 64, s = 4", "[rope][golden]") {
    const RopeFrequencies plain = rope_frequencies(64, {}, 0),
                          ntk = rope_frequencies(64, parse_rope_scaling("ntk,4"), 0);
    CHECK(ntk.theta.front() == 1);
    CHECK(std::abs(ntk.theta.back() / plain.theta.back() - 0.25) <= 1e-12);
    const double base = std::pow(ntk.theta[1], -32.0);
    CHECK(std::abs(base - 41829.366) <= 1e-3);
}

TEST_CASE("rope scaling: dynamic NTK wakes up only beyond the training length", "[rope][law]") {
    const RopeOptions dynamic = parse_rope_scaling("dynamic,2,2048");
    const std::vector<double> plain = inverse_frequencies(64);
    CHECK(rope_frequencies(64, dynamic, 2048).theta == plain);
    // L = 2 L0, s = 2: the stretch is 2 * 2 - 1 = 3.
    CHECK(rope_frequencies(64, dynamic, 4096).theta == rope_frequencies(64, parse_rope_scaling("ntk,3"), 0).theta);
}

TEST_CASE("rope scaling: golden YaRN, d = 64, L0 = 2048, s = 4", "[rope][golden]") {
    CHECK_THROWS_WITH(yarn_ramp(64, 1, 2048), Catch::Contains("base is 1.000000, expected more than 1"));
    CHECK_THROWS_WITH(yarn_ramp(64, 10000, 0),
                      Catch::Contains("64 channels and a text of 0 tokens, expected 1 or more"));
    CHECK_THROWS_WITH(yarn_ramp(0, 10000, 2048), Catch::Contains("0 channels and a text of 2048 tokens"));
    const YarnRamp ramp = yarn_ramp(64, 10000, 2048);
    CHECK(ramp.low == 8);
    CHECK(ramp.high == 21);
    const RopeFrequencies yarn = rope_frequencies(64, parse_rope_scaling("yarn,4,2048"), 0);
    const std::pair<std::size_t, double> golden[] = {
        {0, 1}, {8, 0.1}, {16, 0.00538462}, {20, 0.00097301}, {31, 3.334e-5}};
    for (const auto& [t, theta] : golden) CHECK(std::abs(yarn.theta[t] - theta) <= 1e-8);
    CHECK(std::abs(yarn.attention_factor - 1.138629) <= 1e-6);
    const auto table = rotary_table<double>(yarn.theta, 0, 1, yarn.attention_factor);
    CHECK(table.cos(0, 5) == yarn.attention_factor);
}

TEST_CASE("rope scaling: xPos keeps scores relative and lets them fall with distance", "[rope][law]") {
    const Index length = 12, width = 8;
    const RowVector<double> one = RowVector<double>::Ones(width);
    const auto table = rotary_table<double>(inverse_frequencies(width), 0, length);
    const Matrix<double> factors = xpos_factors<double>(width, length);
    const Matrix<double> rows = rotate<double>(one.replicate(length, 1), table, RotaryLayout::interleaved);
    const Matrix<double> q = scale_planes<double>(rows, factors, RotaryLayout::interleaved);
    const Matrix<double> k = scale_planes<double>(rows, factors.cwiseInverse(), RotaryLayout::interleaved);
    const Matrix<double> scores = products_of_rows<double>(q, k), plain = products_of_rows<double>(rows, rows);
    for (Index i = 1; i < length; ++i)
        for (Index j = 1; j < length; ++j) CHECK(std::abs(scores(i, j) - scores(i - 1, j - 1)) <= 1e-12);
    CHECK(scores(5, 5) == Approx(plain(5, 5)).margin(1e-12));
    CHECK(std::abs(factors(0, 0) - std::pow(0.4 / 1.4, -6.0 / 512)) <= 1e-15);
}

TEST_CASE("rope scaling: what it cannot do is said in one sentence", "[rope][bad]") {
    const auto refused = [](auto call) { return test::refusal(call, Fault::usage); };
    for (const char* text :
         {"", "cubic", "linear", "linear,0", "linear,-2", "linear,4,5", "yarn,4", "yarn,4,x", "ntk,nan"}) {
        INFO(text);
        CHECK(refused([&] { parse_rope_scaling(text); }).find("rope scaling") != std::string::npos);
    }
    RopeOptions missing;
    missing.scaling = RopeScaling::yarn;
    CHECK(refused([&] { rope_frequencies(64, missing, 0); }).find("length of the training texts") != std::string::npos);
    CHECK(refused([&] { rope_frequencies(2, parse_rope_scaling("ntk,2"), 0); }).find("width is 2") !=
          std::string::npos);
    CHECK(refused([&] { rope_frequencies(9, {}, 0); }).find("width is 9") != std::string::npos);
}

}  // namespace locus::test::test_rope_scaling
