// What any word mover's distance must obey.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "core/text/statistics/word_movers.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_word_movers_laws {

using Catch::Contains;

namespace {

/// Words met one to four times, at random places.
PlacedWords document_of(Numbers& numbers, Index words, Index width) {
    PlacedWords placed;
    for (Index n = 0; n < words; ++n)
        placed.words.push_back({"w" + std::to_string(n), 1 + static_cast<Index>(numbers.below(4))});
    placed.vectors = numbers.matrix(words, width);
    return placed;
}

/// Any plan that brings everything: the first words fill the first ones.
double cost_in_order(const PlacedWords& a, const PlacedWords& b, const Matrix<double>& costs,
                     const std::vector<Index>& order) {
    RowVector<double> wanted = b.weights();
    double cost = 0;
    for (const Index i : order) {
        double left = a.weights()[i];
        for (Index j = 0; j < wanted.size(); ++j) {
            const double share = std::min(left, wanted[j]);
            cost += share * costs(i, j);
            left -= share;
            wanted[j] -= share;
        }
    }
    return cost;
}

}  // namespace

TEST_CASE("word movers: bounds below, any plan above, and shares that add up", "[text][wmd][law]") {
    Numbers numbers(4);
    for (int round = 0; round < 40; ++round) {
        const PlacedWords a = document_of(numbers, 1 + static_cast<Index>(numbers.below(12)), 5),
                          b = document_of(numbers, 1 + static_cast<Index>(numbers.below(12)), 5);
        const WordMovers movers = word_movers_distance(a, b);
        const RelaxedWordMovers relaxed = relaxed_word_movers_distance(a, b);
        const double slack = rounding(200, movers.costs.maxCoeff());
        CHECK(relaxed.larger() == std::max(relaxed.from_a, relaxed.from_b));
        CHECK(relaxed.from_a <= movers.distance + slack);
        CHECK(relaxed.from_b <= movers.distance + slack);
        CHECK(centroid_distance(a, b) <= movers.distance + slack);
        std::vector<Index> order(a.words.size());
        std::iota(order.begin(), order.end(), 0);
        for (int plan = 0; plan < 6; ++plan, std::next_permutation(order.begin(), order.end()))
            CHECK(movers.distance <= cost_in_order(a, b, movers.costs, order) + slack);
        REQUIRE(movers.flow.rows() == static_cast<Index>(a.words.size()));
        REQUIRE(movers.flow.cols() == static_cast<Index>(b.words.size()));
        CHECK(max_abs(movers.flow.rowwise().sum().transpose() - a.weights()) <= rounding(16, 1));
        CHECK(max_abs(movers.flow.colwise().sum() - b.weights()) <= rounding(16, 1));
        CHECK(std::abs((movers.flow.array() * movers.costs.array()).sum() - movers.distance) <= slack);
    }
}

TEST_CASE("word movers: a distance: zero to itself, symmetric, never longer by a stop on the way", "[text][wmd][law]") {
    Numbers numbers(5);
    for (int round = 0; round < 20; ++round) {
        const PlacedWords a = document_of(numbers, 7, 4), b = document_of(numbers, 9, 4),
                          c = document_of(numbers, 5, 4);
        const auto between = [](const PlacedWords& x, const PlacedWords& y) {
            return word_movers_distance(x, y).distance;
        };
        const double slack = rounding(400, 8);
        CHECK(between(a, a) == 0);
        CHECK(relaxed_word_movers_distance(a, a).larger() == 0);
        CHECK(between(a, b) > 0);
        CHECK(std::abs(between(a, b) - between(b, a)) <= slack);
        CHECK(between(a, c) <= between(a, b) + between(b, c) + slack);
    }
}

TEST_CASE("word movers: order, repetition and origin do not matter, the unit of length does", "[text][wmd][law]") {
    Numbers numbers(6);
    const PlacedWords a = document_of(numbers, 8, 4), b = document_of(numbers, 6, 4);
    const double distance = word_movers_distance(a, b).distance, slack = rounding(400, 8);
    PlacedWords turned = a, thrice = a;
    std::reverse(turned.words.begin(), turned.words.end());
    turned.vectors = a.vectors.colwise().reverse().eval();
    for (Counted& word : thrice.words) word.count *= 3;
    CHECK(std::abs(word_movers_distance(turned, b).distance - distance) <= slack);
    CHECK(std::abs(word_movers_distance(thrice, b).distance - distance) <= slack);
    PlacedWords moved_a = a, moved_b = b, long_a = a, long_b = b;
    moved_a.vectors.rowwise() += RowVector<double>{{1, 2, 3, 4}};
    moved_b.vectors.rowwise() += RowVector<double>{{1, 2, 3, 4}};
    CHECK(std::abs(word_movers_distance(moved_a, moved_b).distance - distance) <= 10 * slack);
    long_a.vectors *= 4;
    long_b.vectors *= 4;
    CHECK(word_movers_distance(long_a, long_b).distance == 4 * distance);
}

TEST_CASE("word movers: one word against one is the distance of two vectors", "[text][wmd][golden]") {
    PlacedWords a, b;
    a.words = {{"a", 3}};
    b.words = {{"b", 1}, {"c", 1}};
    a.vectors = Matrix<double>{{0, 0}};
    b.vectors = Matrix<double>{{3, 4}, {0, 1}};
    const WordMovers movers = word_movers_distance(a, b);
    CHECK(movers.distance == 3);  // half goes 5, half goes 1
    CHECK(movers.flow == Matrix<double>{{0.5, 0.5}});
    CHECK(relaxed_word_movers_distance(a, b).from_a == 1);
    CHECK(relaxed_word_movers_distance(a, b).from_b == 3);
    CHECK(centroid_distance(a, b) == std::hypot(1.5, 2.5));
}

TEST_CASE("word movers: documents without words, widths apart and NaN are refused", "[text][wmd]") {
    Numbers numbers(7);
    const PlacedWords good = document_of(numbers, 3, 4), narrow = document_of(numbers, 3, 3);
    PlacedWords damaged = good;
    damaged.vectors(1, 1) = std::nan("");
    for (const auto& call : std::vector<void (*)(const PlacedWords&, const PlacedWords&)>{
             [](const PlacedWords&a, const PlacedWords&b) { word_movers_distance(a, b); },
             [](const PlacedWords&a, const PlacedWords&b) { relaxed_word_movers_distance(a, b); },
             [](const PlacedWords&a, const PlacedWords&b) { centroid_distance(a, b); }}) {
        CHECK_THAT(refusal([&] { call(good, {}); }, Fault::usage), Contains("no word with a vector"));
        CHECK_THAT(refusal([&] { call(good, narrow); }, Fault::usage), Contains("widths 4 and 3"));
        CHECK_THAT(refusal([&] { call(good, damaged); }, Fault::usage), Contains("not finite"));
    }
}

}  // namespace locus::test::test_word_movers_laws
