#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "core/positions/factorisation_order.h"
#include "core/text/statistics/factorisation.h"
#include "tests/files.h"

namespace locus::test::test_factorisation {

using Catch::Contains;
using Order = std::vector<Index>;

namespace {

const Document kNewYork = {"New", "York", "is", "a", "city"};

/// A small world where York follows New more often than chance would have it.
const SentenceCounts kWorld({{kNewYork, 6},
                             {{"New", "Orleans", "is", "a", "city"}, 2},
                             {{"Old", "York", "is", "a", "city"}, 1},
                             {{"Old", "Salem", "is", "a", "city"}, 3},
                             {{"New", "York", "is", "a", "state"}, 4}});

}  // namespace

TEST_CASE("factorisation: auto-regressive factors see what came before", "[text][golden]") {
    std::string text;
    for (const Factor& factor : autoregressive_factors({1, 2, 3, 4, 5})) text += describe(factor, kNewYork) + " ";
    CHECK(text == "p(New) p(York | New) p(is | New, York) p(a | New, York, is) p(city | New, York, is, a) ");
}

TEST_CASE("factorisation: BERT asks for New and York apart, XLNet for York after New", "[text][golden]") {
    const std::vector<Factor> bert = autoencoding_factors(5, {1, 2}),
                              xlnet = autoregressive_factors({3, 4, 5, 1, 2}, 3);
    REQUIRE(bert.size() == 2);
    REQUIRE(xlnet.size() == 2);
    CHECK(describe(bert[0], kNewYork) == "p(New | is, a, city)");
    CHECK(describe(bert[1], kNewYork) == "p(York | is, a, city)");
    CHECK(describe(xlnet[0], kNewYork) == "p(New | is, a, city)");
    CHECK(describe(xlnet[1], kNewYork) == "p(York | is, a, city, New)");
    // p(New) = 8/12, p(York) = 7/12, p(York | New) = 6/8, all given "is a city"; both words: 6/12.
    CHECK(std::abs(kWorld.log_probability(bert, kNewYork) - std::log(8.0 / 12 * 7 / 12)) <= 1e-15);
    CHECK(std::abs(kWorld.log_probability(xlnet, kNewYork) - std::log(6.0 / 12)) <= 1e-15);
    CHECK(kWorld.log_probability(bert, kNewYork) < kWorld.log_probability(xlnet, kNewYork));
}

TEST_CASE("factorisation: every order of the words gives the probability of the sentence", "[text][law]") {
    Order order(5);
    std::iota(order.begin(), order.end(), 1);
    do {
        const double found = kWorld.log_probability(autoregressive_factors(order), kNewYork);
        CHECK(std::abs(found - std::log(6.0 / 16)) <= 1e-14);
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("factorisation: one masked word needs no independence, so both ways agree", "[text][law]") {
    for (Index masked = 1; masked <= 5; ++masked) {
        Order order;
        for (Index position = 1; position <= 5; ++position)
            if (position != masked) order.push_back(position);
        order.push_back(masked);
        CHECK(autoencoding_factors(5, {masked}) == autoregressive_factors(order, 4));
    }
}

TEST_CASE("factorisation: words that do depend on nothing lose nothing by being masked together", "[text][law]") {
    const SentenceCounts independent({{{"a", "x"}, 6}, {{"a", "y"}, 3}, {{"b", "x"}, 2}, {{"b", "y"}, 1}});
    const Document sentence = {"a", "x"};
    CHECK(std::abs(independent.log_probability(autoencoding_factors(2, {1, 2}), sentence) -
                   independent.log_probability(autoregressive_factors({1, 2}), sentence)) <= 1e-15);
}

TEST_CASE("factorisation: what never happened is minus infinity, what nobody can know is NaN", "[text]") {
    const Document absent = {"Old", "Orleans", "is", "a", "city"};
    CHECK(kWorld.log_probability(autoregressive_factors({1, 2, 3, 4, 5}, 1)[0], absent) == -INFINITY);
    CHECK(std::isnan(kWorld.log_probability(Factor{1, {2, 5}}, {"New", "Rome", "is", "a", "city"})));
}

TEST_CASE("factorisation: positions and sentences that do not fit are refused", "[text]") {
    CHECK_THAT(refusal([] { autoregressive_factors({1, 1}); }, Fault::usage), Contains("1,1"));
    CHECK_THAT(refusal([] { autoregressive_factors({1, 2}, 3); }, Fault::usage), Contains("known is 3"));
    CHECK_THAT(refusal([] { autoencoding_factors(2, {3}); }, Fault::usage), Contains("position 3"));
    CHECK_THAT(refusal([] { autoencoding_factors(2, {1, 1}); }, Fault::usage), Contains("twice"));
    CHECK_THAT(refusal([] { SentenceCounts({}); }, Fault::usage), Contains("no sentences"));
    CHECK_THAT(refusal([] { SentenceCounts({{{"a"}, 1}, {{"a", "b"}, 1}}); }, Fault::usage), Contains("1 and 2"));
    CHECK_THAT(refusal([] { SentenceCounts({{{"a"}, 0}}); }, Fault::usage), Contains("count is 0"));
    CHECK_THAT(refusal([] { describe({3, {}}, {"a"}); }, Fault::usage), Contains("position 3"));
    CHECK_THAT(refusal([] { kWorld.log_probability(Factor{1, {}}, {"a"}); }, Fault::usage), Contains("expected 5"));
}

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
    CHECK(describe_prediction({3, 2, 4, 1}, 4, sentence, 2) == "word 4 is predicted from memory, 3 (학교), 2 (어제)");
    CHECK(describe_prediction({3, 2, 1, 4}, 1, sentence) == "word 1 is predicted from 3 (학교), 2 (어제)");
    CHECK(describe_prediction({3, 2, 1, 4}, 3, sentence, 1) == "word 3 is predicted from memory alone");
    CHECK(describe_prediction({3, 2, 1, 4}, 3, sentence) == "word 3 is predicted from nothing");
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

}  // namespace locus::test::test_factorisation
