#include <catch2/catch.hpp>
#include <cmath>

#include "core/positions/position_rows.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/naive_reference.h"

namespace locus::test::test_position_rows {

TEST_CASE("learned absolute: the same position has the same row, whatever the word", "[learned_absolute][golden]") {
    // "I love studying deep learning so much" and "I love deep cheeze burguer so much": seven words, seven rows.
    const Matrix<double> table = random_rows(7, 512, 1);
    const Matrix<double> a = learned_rows<double>(table, 7), b = learned_rows<double>(table, 7);
    CHECK(a == table);
    CHECK(a == b);
    CHECK(learned_rows<double>(table, 3, 2) == table.middleRows(2, 3));
    CHECK(learned_rows<double>(table, std::vector<std::int64_t>{6, 0, 6}).row(2) == table.row(6));
    CHECK(learned_rows<double>(table, std::vector<std::int64_t>{6, 0, 6}).row(1) == table.row(0));
    CHECK(learned_rows<float>(table.cast<float>(), 0).rows() == 0);
}

TEST_CASE("learned absolute: past the end is one sentence", "[learned_absolute][bad input]") {
    const Matrix<float> table = Matrix<float>::Zero(7, 4);
    const std::string past = "learned_rows: position 7 is past the end of a learned table of 7 rows, expected 0 to 6";
    CHECK(refusal([&] { learned_rows<float>(table, 8); }, Fault::unsupported) == past);
    CHECK(refusal([&] { learned_rows<float>(table, 2, 6); }, Fault::unsupported) == past);
    CHECK(refusal([&] { learned_rows<float>(table, std::vector<std::int64_t>{0, 7}); }, Fault::unsupported) == past);
    CHECK(refusal([&] { learned_rows<float>(table, std::vector<std::int64_t>{-1}); }, Fault::usage) ==
          "learned_rows: position -1, expected 0 or more");
    CHECK(refusal([&] { learned_rows<float>(table, 1, -1); }, Fault::usage) ==
          "learned_rows: position -1, expected 0 or more");
    CHECK(refusal([&] { learned_rows<float>(table, -1); }, Fault::usage) ==
          "learned_rows: -1 positions, expected 0 or more");
}

TEST_CASE("sinusoidal: golden rows of D = 4", "[sinusoidal][golden]") {
    Matrix<double> expected(3, 4);
    expected << 0, 1, 0, 1, 0.841471, 0.540302, 0.010000, 0.999950, 0.909297, -0.416147, 0.019999, 0.999800;
    const Matrix<double> found = sinusoidal_table<double>(3, 4, SinusoidLayout::interleaved);
    CHECK(max_abs(found - expected) <= 1e-6);
}

TEST_CASE("sinusoidal: both layouts of row 1, d = 8", "[sinusoidal][golden]") {
    RowVector<double> concatenated(8), interleaved(8);
    concatenated << 0.8415, 0.0998, 0.01, 0.001, 0.5403, 0.995, 1, 1;
    interleaved << 0.8415, 0.5403, 0.0998, 0.995, 0.01, 1, 0.001, 1;
    CHECK(max_abs(sinusoidal_table<double>(2, 8, SinusoidLayout::concatenated).row(1) - concatenated) <= 1e-4);
    CHECK(max_abs(sinusoidal_table<double>(2, 8, SinusoidLayout::interleaved).row(1) - interleaved) <= 1e-4);
}

TEST_CASE("sinusoidal: the product of two rows depends only on their distance", "[sinusoidal][law]") {
    const Matrix<double> table = sinusoidal_table<double>(50, 16, SinusoidLayout::concatenated);
    const std::vector<double> w = inverse_frequencies(16);
    for (const Index n : {0, 1, 7, 30})
        for (const Index p : {0, 3, 19}) {
            double expected = 0;
            for (const double w_t : w) expected += std::cos(static_cast<double>(n) * w_t);
            CHECK(std::abs(table.row(p).dot(table.row(p + n)) - expected) <= 1e-12);
        }
    CHECK(max_abs(table) <= 1);
}

TEST_CASE("sinusoidal: a negative distance turns the sines only", "[sinusoidal][law]") {
    const Matrix<double> rows = sinusoidal_rows<double>({5, -5}, 12, SinusoidLayout::concatenated);
    CHECK(rows.row(0).head(6) == -rows.row(1).head(6));
    CHECK(rows.row(0).tail(6) == rows.row(1).tail(6));
}

TEST_CASE("sinusoidal: an odd width or an impossible base is refused by name", "[sinusoidal][bad]") {
    CHECK(test::refusal([] { inverse_frequencies(7); }, Fault::usage).find("width is 7") != std::string::npos);
    CHECK(test::refusal([] { inverse_frequencies(8, -2); }, Fault::usage).find("base") != std::string::npos);
    CHECK(test::refusal([] { inverse_frequencies(8, NAN); }, Fault::usage).find("base") != std::string::npos);
}

}  // namespace locus::test::test_position_rows
