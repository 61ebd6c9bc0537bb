#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include "tests/bench/rounds.h"

namespace locus::test::test_rounds {

using namespace locus::bench;

TEST_CASE("rounds: a ratio is the middle one of the rounds, whatever each round did to both", "[bench]") {
    Rounds rounds(2);
    for (const auto& [ours, others] : {std::pair{1.0, 3.0}, {10.0, 30.0}, {1.0, 3.5}, {2.0, 6.0}, {1.0, 2.0}}) {
        rounds.add(0, {ours, 2 * ours});
        rounds.add(1, {others, 8 * others});
    }
    CHECK(rounds.median(0).wall == 1);
    CHECK(rounds.median(0).processor == 2);
    CHECK(rounds.median(1).wall == 3.5);
    CHECK(rounds.ratio(1, 0).wall == 3);
    CHECK(rounds.ratio(1, 0).processor == 12);
}

TEST_CASE("rounds: ways take turns, each is warm when it is timed, and the first call of a turn is not", "[bench]") {
    std::vector<int> order, in_turn(2, 0);
    const auto way = [&](int which) {
        return Way{"", [&order, &in_turn, which] {
                       if (order.empty() || order.back() != which)
                           order.push_back(which), in_turn[static_cast<std::size_t>(which)] = 0;
                       const double cold = in_turn[static_cast<std::size_t>(which)]++ == 0 ? 1000 : 1;
                       return Spent{cold, cold};
                   }};
    };
    const Rounds rounds = time_in_turn({way(0), way(1)}, 3, 0);
    CHECK(order == std::vector<int>{0, 1, 0, 1, 0, 1});
    CHECK(rounds.median(0).wall == 1);
    CHECK(rounds.median(1).processor == 1);
    int calls = 0;  // of one that takes longer than warming does
    const Way slow = {"", [&] {
                          std::this_thread::sleep_for(std::chrono::milliseconds(25));
                          return Spent{static_cast<double>(++calls), 0};
                      }};
    CHECK(time_in_turn({slow}, 1, 0).median(0).wall == 2);
    CHECK(calls == 2);
}

}  // namespace locus::test::test_rounds
