#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "core/positions/factorisation_order.h"
#include "core/text/statistics/permutation_lm.h"
#include "tests/files.h"

namespace locus::test::test_permutation_lm {

using Catch::Contains;
using Order = std::vector<Index>;

namespace {

/// Positions from 1, as the paper counts, to positions from 0, as the masks do.
Visibility query_of(Order order) {
    for (Index& position : order) --position;
    return query_visibility(order);
}

}  // namespace

TEST_CASE("permutation: the six orders of the source's figures", "[text][golden]") {
    struct Figure {
        Order order, seen_by_3;
    };
    const Figure figures[] = {
        {{1, 2, 3, 4}, {1, 2}},    {{3, 2, 4, 1}, {}},  {{2, 4, 3, 1}, {2, 4}},
        {{1, 4, 2, 3}, {1, 4, 2}}, {{4, 3, 1, 2}, {4}}, {{3, 2, 1, 4}, {}},
    };
    for (const Figure& figure : figures) {
        CHECK(seen_by(figure.order, 3) == figure.seen_by_3);
    }
}

TEST_CASE("permutation: what the list names is what the query mask shows, for all 120 orders", "[text][law]") {
    Order order(5);
    std::iota(order.begin(), order.end(), 1);
    int orders = 0;
    do {
        ++orders;
        const Visibility sees = query_of(order);
        for (Index i = 0; i < 5; ++i) {
            const Order seen = seen_by(order, i + 1);
            CHECK(static_cast<Index>(seen.size()) == sees.row(i).cast<int>().sum());
            for (const Index position : seen) CHECK(sees(i, position - 1) == 1);
        }
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(orders == 120);
}

TEST_CASE("permutation: two orders ask for two words from one content", "[text][golden]") {
    CHECK(seen_by({3, 2, 4, 1}, 4) == seen_by({3, 2, 1, 4}, 1));
    const Document sentence = {"나", "어제", "학교", "갔어"};
    CHECK(describe_prediction({3, 2, 4, 1}, 4, sentence) == "word 4 is predicted from memory, 3 (학교), 2 (어제)");
    CHECK(describe_prediction({3, 2, 1, 4}, 1, sentence) == "word 1 is predicted from memory, 3 (학교), 2 (어제)");
    CHECK(describe_prediction({3, 2, 1, 4}, 3, sentence) == "word 3 is predicted from memory alone");
}

TEST_CASE("permutation: the proverb, last and third", "[text][golden]") {
    const Document words = {"발", "없는", "말", "이", "천리", "간다"};  // 1..6
    const auto names = [&](const Order& positions) {
        Document found;
        for (const Index position : positions) found.push_back(words[static_cast<std::size_t>(position - 1)]);
        return found;
    };
    CHECK(names(seen_by({2, 4, 3, 1, 6, 5}, 5)) == Document{"없는", "이", "말", "발", "간다"});
    CHECK(names(seen_by({1, 2, 5, 4, 3, 6}, 5)) == Document{"발", "없는"});
}

TEST_CASE("permutation: relative positions with a memory of three words", "[text][golden]") {
    CHECK(distances_with_memory(3, 3) == std::vector<Order>{{3, 2, 1, 0}, {4, 3, 2, 1, 0}, {5, 4, 3, 2, 1, 0}});
    CHECK(distances_with_memory(0, 2) == std::vector<Order>{{0}, {1, 0}});
}

TEST_CASE("permutation: an order that is none is refused", "[text]") {
    for (const Order& order : {Order{}, Order{1, 1}, Order{0, 1}, Order{1, 3}, Order{-1}, Order{2}})
        CHECK_THAT(refusal([&] { check_order(order); }, Fault::usage), Contains("expected each position"));
    CHECK_THAT(refusal([] { seen_by({1, 2}, 3); }, Fault::usage), Contains("target is 3"));
    CHECK_THAT(refusal([] { describe_prediction({1, 2}, 1, {"a"}); }, Fault::usage), Contains("1 words"));
    CHECK_THAT(refusal([] { distances_with_memory(-1, 1); }, Fault::usage), Contains("memory is -1"));
}

}  // namespace locus::test::test_permutation_lm
