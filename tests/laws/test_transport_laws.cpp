// The cheapest transport, against enumeration and against its own prices.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/text/statistics/word_movers.h"
#include "tests/files.h"
#include "tests/seeded.h"

namespace locus::test::test_transport_laws {

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

}  // namespace locus::test::test_transport_laws
