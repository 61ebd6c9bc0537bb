// The cheapest transport, against enumeration and against its own prices.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/text/statistics/word_movers.h"
#include "tests/files.h"
#include "tests/max_abs.h"
#include "tests/seeded.h"

namespace locus::test::test_word_movers_laws {

using Catch::Contains;
using Units = std::vector<std::int64_t>;

namespace {

/// Every way to pair single units: as exact as it is slow.
double cheapest_by_enumeration(const Units& supplies, const Units& demands, const Matrix<double>& costs) {
    std::vector<Index> from, to;
    for (std::size_t i = 0; i < supplies.size(); ++i)
        from.insert(from.end(), static_cast<std::size_t>(supplies[i]), static_cast<Index>(i));
    for (std::size_t j = 0; j < demands.size(); ++j)
        to.insert(to.end(), static_cast<std::size_t>(demands[j]), static_cast<Index>(j));
    REQUIRE(from.size() == to.size());
    double cheapest = std::numeric_limits<double>::infinity();
    do {
        double cost = 0;
        for (std::size_t n = 0; n < from.size(); ++n) cost += costs(from[n], to[n]);
        cheapest = std::min(cheapest, cost);
    } while (std::next_permutation(to.begin(), to.end()));
    return cheapest;
}

/// `units` thrown at `places` places.
Units scattered(Numbers& numbers, std::int64_t units, std::size_t places) {
    Units counts(places, 0);
    for (std::int64_t n = 0; n < units; ++n) ++counts[numbers.below(places)];
    return counts;
}

void check_plan(const TransportPlan& plan, const Units& supplies, const Units& demands, const Matrix<double>& costs) {
    REQUIRE(plan.units.rows() == costs.rows());
    REQUIRE(plan.units.cols() == costs.cols());
    CHECK(plan.units.minCoeff() >= 0);
    for (Index i = 0; i < costs.rows(); ++i) CHECK(plan.units.row(i).sum() == supplies[static_cast<std::size_t>(i)]);
    for (Index j = 0; j < costs.cols(); ++j) CHECK(plan.units.col(j).sum() == demands[static_cast<std::size_t>(j)]);
    // Prices that nobody can beat, and that every used pair meets: then no plan is cheaper (linear duality).
    const double slack = rounding(16 * (costs.rows() + costs.cols()), costs.maxCoeff());
    double worth = 0;
    std::int64_t total = 0;
    for (Index i = 0; i < costs.rows(); ++i) {
        worth += static_cast<double>(supplies[static_cast<std::size_t>(i)]) * plan.source_prices[i];
        total += supplies[static_cast<std::size_t>(i)];
    }
    for (Index j = 0; j < costs.cols(); ++j)
        worth += static_cast<double>(demands[static_cast<std::size_t>(j)]) * plan.sink_prices[j];
    for (Index i = 0; i < costs.rows(); ++i)
        for (Index j = 0; j < costs.cols(); ++j) {
            const double price = plan.source_prices[i] + plan.sink_prices[j];
            CHECK(price <= costs(i, j) + slack);
            if (plan.units(i, j) > 0) CHECK(std::abs(price - costs(i, j)) <= slack);
        }
    CHECK(std::abs(worth - plan.cost) <= slack * static_cast<double>(total));
}

}  // namespace

TEST_CASE("transport: as cheap as the best of all pairings, equal weights", "[text][wmd][oracle]") {
    Numbers numbers(1);
    for (Index n = 1; n <= 7; ++n)
        for (int round = 0; round < 6; ++round) {
            const Matrix<double> costs = numbers.matrix(n, n).cwiseAbs();
            const Units ones(static_cast<std::size_t>(n), 1);
            const TransportPlan plan = cheapest_transport(ones, ones, costs);
            CHECK(std::abs(plan.cost - cheapest_by_enumeration(ones, ones, costs)) <=
                  rounding(2 * n, static_cast<double>(n)));
            check_plan(plan, ones, ones, costs);
        }
}

TEST_CASE("transport: as cheap as the best of all pairings, any weights, ties and zeros", "[text][wmd][oracle]") {
    Numbers numbers(2);
    for (int round = 0; round < 200; ++round) {
        const std::size_t sources = 1 + numbers.below(5), sinks = 1 + numbers.below(5);
        const auto units = static_cast<std::int64_t>(1 + numbers.below(7));
        const Units supplies = scattered(numbers, units, sources), demands = scattered(numbers, units, sinks);
        Matrix<double> costs = numbers.matrix(static_cast<Index>(sources), static_cast<Index>(sinks)).cwiseAbs();
        if (round % 2) costs = (costs * 3).array().round();  // many pairs cost the same, or nothing
        const TransportPlan plan = cheapest_transport(supplies, demands, costs);
        CHECK(std::abs(plan.cost - cheapest_by_enumeration(supplies, demands, costs)) <= rounding(16, 7 * 3));
        check_plan(plan, supplies, demands, costs);
    }
}

TEST_CASE("transport: large plans prove themselves by their prices", "[text][wmd][law]") {
    Numbers numbers(3);
    for (const auto& [sources, sinks, units] :
         {std::tuple<std::size_t, std::size_t, std::int64_t>{60, 60, 3600}, {150, 40, 100000}, {1, 90, 5000}}) {
        const Units supplies = scattered(numbers, units, sources), demands = scattered(numbers, units, sinks);
        const Matrix<double> costs = numbers.matrix(static_cast<Index>(sources), static_cast<Index>(sinks)).cwiseAbs();
        check_plan(cheapest_transport(supplies, demands, costs), supplies, demands, costs);
    }
}

TEST_CASE("transport: amounts and costs that cannot be are refused", "[text][wmd]") {
    const Matrix<double> costs = Matrix<double>::Ones(2, 2);
    const auto refused = [&](const Units& supplies, const Units& demands, const Matrix<double>& with) {
        return refusal([&] { cheapest_transport(supplies, demands, with); }, Fault::usage);
    };
    CHECK_THAT(refused({1, 2}, {1, 1}, costs), Contains("sum to 3") && Contains("to 2"));
    CHECK_THAT(refused({-1, 3}, {1, 1}, costs), Contains("is -1"));
    CHECK_THAT(refused({1}, {1}, costs), Contains("[2, 2]") && Contains("[1, 1]"));
    CHECK_THAT(refused({std::int64_t{1} << 53, 1}, {1, 1}, costs), Contains("2^53"));
    for (const double wrong : {-1.0, std::nan(""), double{INFINITY}}) {
        Matrix<double> damaged = costs;
        damaged(1, 0) = wrong;
        CHECK_THAT(refused({1, 1}, {1, 1}, damaged), Contains("negative or not finite"));
    }
}

// What any word mover's distance must obey.

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
    PlacedWords reversed = a, thrice = a;
    std::reverse(reversed.words.begin(), reversed.words.end());
    reversed.vectors = a.vectors.colwise().reverse().eval();
    for (Counted& word : thrice.words) word.count *= 3;
    CHECK(std::abs(word_movers_distance(reversed, b).distance - distance) <= slack);
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

TEST_CASE("word movers: it asks before every word whether to stop", "[text][wmd]") {
    Numbers numbers(8);
    const PlacedWords a = document_of(numbers, 5, 4), b = document_of(numbers, 7, 4);
    int asked = 0;
    const CancelToken at_fourth = [&] { return ++asked == 4; };
    CHECK_THROWS_AS(word_movers_distance(a, b, at_fourth), Cancelled);
    CHECK(asked == 4);
    asked = 0;
    CHECK_THROWS_AS(relaxed_word_movers_distance(a, b, at_fourth), Cancelled);
    CHECK(asked == 4);
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
