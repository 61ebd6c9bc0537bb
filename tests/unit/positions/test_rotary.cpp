#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>

#include "core/attention/rotary.h"
#include "core/positions/rotary.h"
#include "core/products.h"
#include "tests/files.h"
#include "tests/max_abs.h"

namespace locus::test::test_rotary {

namespace {

constexpr RotaryLayout kLayouts[] = {RotaryLayout::interleaved, RotaryLayout::half_split};

/// x at positions 0 ... count - 1, one row each.
Matrix<double> at_positions(const RowVector<double>& x, Index count, RotaryLayout layout) {
    return rotate<double>(x.replicate(count, 1), rotary_table<double>(inverse_frequencies(x.size()), 0, count), layout);
}

}  // namespace

TEST_CASE("rotary: golden vector G2", "[rotary][golden]") {
    RowVector<double> x(4);
    x << 1, 2, 3, 4;
    Matrix<double> interleaved(4, 4), half(3, 4);
    interleaved << 1, 2, 3, 4, -1.142640, 1.922076, 2.959851, 4.029800, -2.234742, 0.077004, 2.919405, 4.059196,
        -1.272233, -1.838865, 2.878668, 4.088187;
    half << 1, 2, 3, 4, -1.984111, 1.959901, 2.462378, 4.019800, -3.144039, 1.919605, -0.339143, 4.039197;
    CHECK(max_abs(at_positions(x, 4, RotaryLayout::interleaved) - interleaved) <= 1e-6);
    CHECK(max_abs(at_positions(x, 3, RotaryLayout::half_split) - half) <= 1e-6);

    Matrix<double> rows(3, 4), scores(3, 3);
    rows << 1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1;
    scores << 1, -0.425735, -0.172821, -0.425735, 1, 1.195862, -0.172821, 1.195862, 2;
    const auto table = rotary_table<double>(inverse_frequencies(4), 0, 3);
    CHECK(max_abs(rotary_scores<double>(rows, rows, table, table, RotaryLayout::interleaved) - scores) <= 1e-6);
}

TEST_CASE("rotary: matrix, elementwise and complex form are one rotation", "[rotary][law]") {
    const Matrix<double> x = Matrix<double>::Random(9, 12);
    const auto table = rotary_table<double>(inverse_frequencies(12), 40, 9);
    for (const RotaryLayout layout : kLayouts) {
        const Matrix<double> y = rotate<double>(x, table, layout);
        CHECK(max_abs(rotate_by_matrix<double>(x, table, layout) - y) <= 1e-14);
        CHECK(max_abs(rotate_by_complex<double>(x, table, layout) - y) <= 1e-14);
        CHECK(max_abs(rotate_back<double>(y, table, layout) - x) <= 1e-14);
        CHECK(max_abs(y.rowwise().norm() - x.rowwise().norm()) <= 1e-14);
        CHECK(max_abs(y - x) > 0.5);
    }
}

TEST_CASE("rotary: R_m^T R_n = R_{n-m}", "[rotary][law]") {
    const auto table = rotary_table<double>(inverse_frequencies(8), 0, 30);
    for (const RotaryLayout layout : kLayouts)
        for (const auto& [m, n] : {std::pair<Index, Index>{3, 17}, {0, 29}, {11, 11}})
            CHECK(
                max_abs(transposed_times<double>(rotation_matrix(table, m, layout), rotation_matrix(table, n, layout)) -
                        rotation_matrix(table, n - m, layout)) <= 1e-14);
}

TEST_CASE("rotary: a score depends only on i - j", "[rotary][law]") {
    const Matrix<double> q = Matrix<double>::Random(6, 8), k = Matrix<double>::Random(6, 8);
    const std::vector<double> theta = inverse_frequencies(8);
    const auto here = rotary_table<double>(theta, 0, 6), far = rotary_table<double>(theta, 1234, 6);
    for (const RotaryLayout layout : kLayouts) {
        CHECK(max_abs(rotary_scores<double>(q, k, here, here, layout) -
                      rotary_scores<double>(q, k, far, far, layout)) <= 1e-12);
        // Not when only one of them is rotated further: the law is no triviality.
        CHECK(max_abs(rotary_scores<double>(q, k, here, here, layout) -
                      rotary_scores<double>(q, k, far, here, layout)) > 0.1);
    }
}

TEST_CASE("rotary: the two layouts are one another's permutation, and scores do not see it", "[rotary][law]") {
    const Matrix<double> x = Matrix<double>::Random(5, 10), k = Matrix<double>::Random(5, 10);
    const auto table = rotary_table<double>(inverse_frequencies(10), 3, 5);
    const std::vector<Index> order = half_split_order(10);
    const Matrix<double> half = rotate<double>(x(Eigen::all, order), table, RotaryLayout::half_split);
    CHECK(half == Matrix<double>(rotate<double>(x, table, RotaryLayout::interleaved)(Eigen::all, order)));
    CHECK(max_abs(rotary_scores<double>(x(Eigen::all, order), k(Eigen::all, order), table, table,
                                        RotaryLayout::half_split) -
                  rotary_scores<double>(x, k, table, table, RotaryLayout::interleaved)) <= 1e-14);
    CHECK(max_abs(rotate<double>(x, table, RotaryLayout::half_split) -
                  rotate<double>(x, table, RotaryLayout::interleaved)) > 0.1);
}

TEST_CASE("rotary: tables of both layouts and an offset give the same angles", "[rotary][law]") {
    const auto expected = rotary_table<double>(inverse_frequencies(8), 4, 3);
    for (const SinusoidLayout layout : {SinusoidLayout::interleaved, SinusoidLayout::concatenated}) {
        const auto table = rotary_table_of<double>(sinusoidal_table<double>(7, 8, layout), layout).rows(4, 3);
        CHECK(table.sin == expected.sin);
        CHECK(table.cos == expected.cos);
    }
}

TEST_CASE("rotary: a cached prefix gives the rows of the whole text", "[rotary][law]") {
    const Matrix<double> q = Matrix<double>::Random(9, 8), k = Matrix<double>::Random(9, 8);
    const auto all = rotary_table<double>(inverse_frequencies(8), 0, 9);
    const Matrix<double> whole = rotary_scores<double>(q, k, all, all, RotaryLayout::interleaved);
    const auto later = rotary_table<double>(inverse_frequencies(8), 6, 3);
    CHECK(rotary_scores<double>(q.bottomRows(3), k, later, all, RotaryLayout::interleaved) == whole.bottomRows(3));
}

TEST_CASE("rotary: channels beyond the table pass unturned", "[rotary][law]") {
    const Matrix<double> x = Matrix<double>::Random(4, 10);
    const auto table = rotary_table<double>(inverse_frequencies(6), 1, 4);
    for (const RotaryLayout layout : kLayouts) {
        const Matrix<double> y = rotate<double>(x, table, layout);
        CHECK(y.rightCols(4) == x.rightCols(4));
        CHECK(y.leftCols(6) == rotate<double>(x.leftCols(6), table, layout));
    }
}

TEST_CASE("rotary: softmax attention turns queries and keys, never values", "[rotary][law]") {
    const Matrix<double> q = Matrix<double>::Random(5, 6), k = Matrix<double>::Random(5, 6);
    const Matrix<double> ones = Matrix<double>::Ones(5, 3);
    const auto table = rotary_table<double>(inverse_frequencies(6), 0, 5);
    CHECK(max_abs(rotary_attention<double>(q, k, ones, table, RotaryLayout::interleaved, {}) - ones) <= 1e-15);
}

TEST_CASE("rotary: shapes that do not fit are refused by name", "[rotary][bad]") {
    const auto table = rotary_table<double>(inverse_frequencies(8), 0, 4);
    const auto refused = [](auto call) { return test::refusal(call, Fault::usage); };
    CHECK(refused([&] {
              rotate<double>(Matrix<double>::Zero(3, 8), table, RotaryLayout::interleaved);
          }).find("4 positions") != std::string::npos);
    CHECK(refused([&] {
              rotate<double>(Matrix<double>::Zero(4, 6), table, RotaryLayout::interleaved);
          }).find("6 channels") != std::string::npos);
    CHECK_THAT(refused([&] {
                   rotate<double>(Matrix<double>::Zero(4, 8), {table.sin, Matrix<double>::Ones(1, 1)},
                                  RotaryLayout::interleaved);
               }),
               Catch::Contains("rotate: cosines 1 x 1, expected 4 x 4 as the sines"));
    CHECK_THAT(refused([&] { rotary_table<double>(inverse_frequencies(8), 0, -1); }),
               Catch::Contains("4 angles and -1 positions"));
    CHECK(refused([&] {
              rotary_table_of<double>(Matrix<double>::Zero(2, 5), SinusoidLayout::concatenated);
          }).find("even") != std::string::npos);
    CHECK(refused([&] { half_split_order(5); }).find("width is 5") != std::string::npos);
}

TEST_CASE("rope decay: golden bounds B(r)", "[rope][golden]") {
    const std::vector<double> distances = {0, 1, 2, 5, 10, 20, 50, 100, 200, 250, 500};
    const std::map<Index, std::vector<double>> golden = {
        {64,
         {16.5, 15.947764, 14.484515, 10.427632, 8.814334, 8.010578, 5.733077, 7.465277, 3.860478, 3.6687, 3.043376}},
        {128,
         {32.5, 31.538166, 28.955988, 20.845358, 17.954137, 15.24243, 12.629452, 10.22733, 7.244771, 6.548179,
          6.189791}},
        {768,
         {192.5, 187.395109, 173.525311, 125.45101, 109.263854, 90.32309, 67.137911, 52.754606, 40.415901, 37.278045,
          27.764416}}};
    for (const auto& [width, bounds] : golden)
        for (std::size_t n = 0; n < distances.size(); ++n)
            CHECK(std::abs(decay_bound(inverse_frequencies(width), distances[n]) - bounds[n]) <= 1e-6);
    const double small[] = {1.5, 1.379969, 1.04869, 0.585691, 0.897879, 1.285933};
    for (int r = 0; r < 6; ++r) CHECK(std::abs(decay_bound(inverse_frequencies(4), r) - small[r]) <= 1e-6);
}

TEST_CASE("rope decay: the bound is not monotone, d = 64 first rises at 12 and in 233 of 512 steps", "[rope][golden]") {
    const std::vector<double> theta = inverse_frequencies(64);
    int rises = 0, first = 0;
    for (int r = 1; r <= 512; ++r)
        if (decay_bound(theta, r) > decay_bound(theta, r - 1)) {
            ++rises;
            if (first == 0) first = r;
        }
    CHECK(first == 12);
    CHECK(rises == 233);
}

TEST_CASE("rope decay: the curve is the score of rotated vectors and stays below its bound", "[rope][law]") {
    const Index width = 16, count = 300;
    const std::vector<double> theta = inverse_frequencies(width);
    for (const RotaryLayout layout : {RotaryLayout::interleaved, RotaryLayout::half_split}) {
        const RowVector<double> q = RowVector<double>::Random(width), k = RowVector<double>::Random(width);
        const std::vector<double> curve = score_curve(q, k, theta, layout, count);
        const std::vector<double> bound = score_bound(q, k, theta, layout, count);
        const Matrix<double> rotated =
            rotate<double>(q.replicate(count, 1), rotary_table<double>(theta, 0, count), layout);
        for (Index r = 0; r < count; ++r) {
            const auto at = static_cast<std::size_t>(r);
            CHECK(std::abs(curve[at] - rotated.row(r).dot(k)) <= 1e-12);
            CHECK(std::abs(curve[at]) <= bound[at] + 1e-12);
        }
    }
}

TEST_CASE("rope decay: for q = k = ones only the last step of Abel's sum is left, and the bound is B(r)",
          "[rope][law]") {
    // h_t = 2 in every plane, so |h_{t+1} - h_t| is 0 but for h_{d/2} = 0: the bound is 2 (d/2) B(r).
    const std::vector<double> theta = inverse_frequencies(12);
    const RowVector<double> ones = RowVector<double>::Ones(12);
    const std::vector<double> bound = score_bound(ones, ones, theta, RotaryLayout::interleaved, 20);
    for (std::size_t r = 0; r < 20; ++r)
        CHECK(std::abs(bound[r] - 12 * decay_bound(theta, static_cast<double>(r))) <= 1e-12);
}

TEST_CASE("rope decay: vectors of another width are refused", "[rope][bad]") {
    const RowVector<double> q = RowVector<double>::Ones(6);
    CHECK(test::refusal([&] { score_curve(q, q, inverse_frequencies(8), RotaryLayout::interleaved, 4); }, Fault::usage)
              .find("expected 8") != std::string::npos);
    CHECK(test::refusal([&] { decay_bound({}, 1); }, Fault::usage).find("no angles") != std::string::npos);
}

}  // namespace locus::test::test_rotary
