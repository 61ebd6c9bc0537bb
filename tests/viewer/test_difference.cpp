// Two matrices: figures, and the order of the worst cells.
#include "viewer/plots/difference.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace locus::test::test_difference {

namespace {

Matrix<double> matrix(Index rows, Index cols, std::initializer_list<double> values) {
    Matrix<double> filled(rows, cols);
    std::copy(values.begin(), values.end(), filled.data());
    return filled;
}

Matrix<double> random_matrix(Index rows, Index cols, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Matrix<double> filled(rows, cols);
    for (Index n = 0; n < filled.size(); ++n) filled.data()[n] = normal(generator);
    return filled;
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("difference: a matrix and itself are equal, to the last bit", "[viewer][compare][law]") {
    const Matrix<double> a = random_matrix(5, 7, 1);
    const Difference none = difference_of(a, a, 0);
    CHECK(none.cells == 35);
    CHECK(none.outside == 0);
    CHECK(none.largest == 0);
    CHECK(none.mean == 0);
    CHECK(none.p99 == 0);
    CHECK(none.ulp == 0);
    CHECK(none.cosine == Approx(1));
    CHECK_FALSE(worst_cell(a, a));
    CHECK_FALSE(next_worst(a, a, {2, 3}));
    CHECK(where_outside(a, a, 0).empty());
}

TEST_CASE("difference: figures of four cells by hand", "[viewer][compare]") {
    const Matrix<double> a = matrix(2, 2, {1, 2, 3, 4}), b = matrix(2, 2, {1, 2.5, 1, 4.25});
    const Difference found = difference_of(a, b, 0.3);
    CHECK(found.largest == 2);
    CHECK(found.mean == Approx(2.75 / 4));
    CHECK(found.p99 == 2);
    CHECK(found.outside == 2);
    CHECK(found.ulp == 12582912);  // from 1 to 3: a doubling and a half, 2^23 steps each
    CHECK(found.cosine == Approx(26 / std::sqrt(30.0 * 26.3125)));
    // A cell exactly on the bound is inside.
    CHECK(difference_of(a, b, 0.5).outside == 1);
}

TEST_CASE("difference: p99 is the smallest gap that 99 of 100 cells do not exceed", "[viewer][compare][law]") {
    Matrix<double> gaps(10, 10);
    for (Index n = 0; n < 100; ++n) gaps.data()[n] = static_cast<double>((n * 37) % 100 + 1);
    const Difference found = difference_of(gaps, Matrix<double>::Zero(10, 10), 0);
    CHECK(found.p99 == 99);
    CHECK(found.largest == 100);
}

TEST_CASE("difference: no bad number passes, and none spoils the other figures", "[viewer][compare][law]") {
    const Matrix<double> a = matrix(2, 3, {1, kNaN, 3, kInfinity, 5, kNaN});
    const Matrix<double> b = matrix(2, 3, {1, 2, 3.5, kInfinity, kNaN, kNaN});
    const Difference found = difference_of(a, b, 1e9);
    CHECK(found.not_finite == 4);
    CHECK(found.outside == 4);
    CHECK(found.largest == 0.5);
    CHECK(found.mean == 0.25);
    CHECK(std::isfinite(found.cosine));
    CHECK(worst_cell(a, b) == Cell{0, 1});
}

TEST_CASE("difference: steps of float32", "[viewer][compare][law]") {
    CHECK(ulp_distance(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
    CHECK(ulp_distance(-1.0f, std::nextafter(-1.0f, 2.0f)) == 1);
    CHECK(ulp_distance(0.0f, -0.0f) == 0);
    const float tiny = std::numeric_limits<float>::denorm_min();
    CHECK(ulp_distance(-tiny, tiny) == 2);
    CHECK(ulp_distance(1.0f, 2.0f) == 8388608);
    CHECK(std::isnan(ulp_distance(1.0f, std::numeric_limits<float>::quiet_NaN())));
    CHECK(ulp_distance(3.0f, 7.0f) == ulp_distance(7.0f, 3.0f));
}

TEST_CASE("difference: jumping visits every cell that differs once, worst first, then starts again",
          "[viewer][compare][law]") {
    Matrix<double> a = random_matrix(6, 4, 2), b = random_matrix(6, 4, 3);
    b(0, 0) = a(0, 0);        // equal: never visited
    a(2, 1) = kNaN;           // the worst of all
    a(3, 3) = b(3, 3) + 0.5;  // two of one size: row by row
    a(5, 0) = b(5, 0) - 0.5;
    std::vector<Cell> visited = {*worst_cell(a, b)};
    CHECK(visited.front() == Cell{2, 1});
    for (int n = 0; n < 22; ++n) visited.push_back(*next_worst(a, b, visited.back()));
    std::set<std::pair<Index, Index>> once;
    double before = kInfinity;
    for (const Cell& cell : visited) {
        const double gap = std::abs(a(cell.i, cell.j) - b(cell.i, cell.j));
        if (std::isfinite(gap)) {
            CHECK(gap <= before);
            before = gap;
        }
        once.insert({cell.i, cell.j});
    }
    CHECK(once.size() == 23);
    CHECK(once.count({0, 0}) == 0);
    CHECK(next_worst(a, b, visited.back()) == visited.front());
    // From a cell that is equal there is nothing worse behind it: the worst.
    CHECK(next_worst(a, b, {0, 0}) == visited.front());
}

TEST_CASE("difference: where the wrong cells are", "[viewer][compare]") {
    const Matrix<double> zero = Matrix<double>::Zero(4, 4);
    Matrix<double> off = Matrix<double>::Ones(4, 4), on = zero;
    off.diagonal().setZero();
    on.diagonal().setOnes();
    CHECK(where_outside(off, zero, 0.5) == "every cell off the diagonal differs and the diagonal agrees");
    CHECK(where_outside(on, zero, 0.5) == "only the diagonal differs");
    CHECK(where_outside(Matrix<double>::Ones(4, 4), zero, 0.5) == "every cell differs");
    off(0, 1) = 0;
    CHECK(where_outside(off, zero, 0.5) == "the diagonal agrees everywhere");
    Matrix<double> row = zero;
    row(2, 0) = row(2, 2) = 1;
    CHECK(where_outside(row, zero, 0.5) == "all of them in one row");
    row(1, 1) = 1;
    CHECK(where_outside(row, zero, 0.5).empty());
    CHECK_THROWS_AS(where_outside(zero, Matrix<double>::Zero(4, 3), 0), Error);
    // Only a square has a diagonal worth a word, and one row is no finding where there is no other.
    CHECK(where_outside(matrix(1, 3, {1, 0, 0}), matrix(1, 3, {0, 0, 0}), 0.5).empty());
    CHECK(where_outside(matrix(2, 3, {0, 1, 1, 1, 0, 1}), matrix(2, 3, {0, 0, 0, 0, 0, 0}), 0.5).empty());
    CHECK(where_outside(matrix(2, 3, {1, 0, 0, 0, 1, 0}), matrix(2, 3, {0, 0, 0, 0, 0, 0}), 0.5).empty());
}

}  // namespace locus::test::test_difference
