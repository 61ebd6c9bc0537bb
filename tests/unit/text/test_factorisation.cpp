#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

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

}  // namespace locus::test::test_factorisation
