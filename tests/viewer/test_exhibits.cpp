// What the pages of the other families open on really shows what they say.
#include "viewer/exhibits.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/relative.h"
#include "core/attention/rotary.h"
#include "viewer/plots/token_cards.h"
#include "viewer/state.h"

using namespace locus;

namespace {

RotaryExhibit rotary(const ExhibitChoice& choice = State().exhibits.roformer) {
    return RotaryExhibit(std::make_shared<const ExhibitModel>(choice.model, Family::roformer), choice);
}

}  // namespace

TEST_CASE("exhibits: the rope page opens on a head that looks one token back", "[viewer][rope]") {
    const RotaryExhibit exhibit = rotary();
    const RopeState state;
    const Matrix<float> attention = exhibit.attention(state.layer, state.head);
    REQUIRE(attention.rows() == static_cast<Index>(exhibit.words().size()));
    CHECK(state.query - state.key == 1);
    Index best = -1;
    attention.row(state.query).maxCoeff(&best);
    CHECK(best == state.key);
    CHECK(exhibit.query(state.layer, state.head, state.query).size() == exhibit.sizes().head_width);
}

TEST_CASE("exhibits: the vectors on the rope page, turned, give the model's attention", "[viewer][rope][law]") {
    const RotaryExhibit exhibit = rotary();
    const auto tokens = static_cast<Index>(exhibit.words().size());
    const Index width = exhibit.sizes().head_width;
    Matrix<double> q(tokens, width), k(tokens, width);
    for (Index t = 0; t < tokens; ++t) {
        q.row(t) = exhibit.query(1, 2, t);
        k.row(t) = exhibit.key(1, 2, t);
    }
    const auto table = rotary_table<double>(inverse_frequencies(width), 0, tokens);
    const Matrix<double> expected =
        masked_softmax<double>(rotary_scores<double>(q, k, table, table, RotaryLayout::interleaved), {});
    const Matrix<float> found = exhibit.attention(1, 2);
    for (Index n = 0; n < found.size(); ++n) CHECK(found.data()[n] == Approx(expected.data()[n]).margin(1e-5));
}

TEST_CASE("exhibits: a shorter memory holds the newest tokens", "[viewer][transformer-xl]") {
    const MemoryExhibit exhibit;
    // The first layer's keys are made of single words, so those still remembered are the same ones.
    const auto keys = [&](Index memory) -> Matrix<float> {
        return exhibit.answer(memory).trace.at("layer.0.k").as<float>().matrix(1);
    };
    const Matrix<float> all = keys(24), few = keys(5);
    REQUIRE(few.rows() == 29);
    CHECK(few.isApprox(all.bottomRows(29), 1e-6f));
    CHECK_FALSE(few.topRows(5).isApprox(all.topRows(5), 0.1f));
}

TEST_CASE("exhibits: one that cannot be opened says why, each time", "[viewer]") {
    struct Broken {
        Broken() { throw Error(Fault::unreadable, "tiny-nothing is not there, expected a folder"); }
    };
    Opening<Broken> opening;
    CHECK(opening.trouble() == "tiny-nothing is not there, expected a folder");
    CHECK(opening.trouble() == "tiny-nothing is not there, expected a folder");
    CHECK_THROWS_WITH(*opening, "tiny-nothing is not there, expected a folder");
    Opening<int> whole;
    CHECK(whole.trouble().empty());
    CHECK(*whole == 0);
}

TEST_CASE("exhibits: the story's next word is known with the memory and not without it", "[viewer][transformer-xl]") {
    const MemoryExhibit exhibit;
    const MemoryState state;
    const MemoryAnswer with = exhibit.answer(state.memory), without = exhibit.answer(0);
    const auto i = static_cast<std::size_t>(state.cell.i);
    REQUIRE(exhibit.longest_memory() == state.memory);
    CHECK(exhibit.next()[i] == "bakery");
    CHECK(exhibit.guesses(with, state.cell.i, 1).front().word == "bakery");
    // As the official code has it (tests/oracle/tiny_txl_trained): .8199, and .7179 for the harbor without memory.
    CHECK(exhibit.probability_of_next(with, state.cell.i) == Approx(0.8199).margin(1e-3));
    CHECK(exhibit.guesses(without, state.cell.i, 1).front().word == "harbor");
    CHECK(exhibit.guesses(without, state.cell.i, 1).front().probability == Approx(0.7179).margin(1e-3));
    CHECK(with.loss == Approx(0.3883).margin(1e-3));
    CHECK(without.loss == Approx(1.211).margin(1e-3));
    // The cell that the page opens on: the query finds the word in the memory.
    const auto probabilities = with.trace.at("layer.0.probs").as<float>().matrix(state.head);
    Index best = -1;
    probabilities.row(state.cell.i).maxCoeff(&best);
    CHECK(best == state.cell.j);
    CHECK(best < state.memory);
}

TEST_CASE("exhibits: four terms add up to the model's score at every visible cell", "[viewer][transformer-xl][law]") {
    const MemoryExhibit exhibit;
    for (const Index memory : {0, 7, 24}) {
        const MemoryAnswer answer = exhibit.answer(memory);
        const auto stage = [&](const char* stem) {
            return answer.trace.at(std::string("layer.1.") + stem).as<float>().matrix(2);
        };
        const Matrix<float> scores = stage("scores");
        REQUIRE(scores.cols() == memory + scores.rows());
        const auto terms = relative_terms<float>(stage("q"), stage("k"), stage("r_k"), exhibit.content_bias(2),
                                                 exhibit.position_bias(2), scores.cols() - 1);
        const auto root = std::sqrt(static_cast<float>(exhibit.sizes().head_width));
        for (Index i = 0; i < scores.rows(); ++i)
            for (Index j = 0; j <= i + memory; ++j)
                CHECK(scores(i, j) ==
                      Approx((terms.a(i, j) + terms.b(i, j) + terms.c(i, j) + terms.d(i, j)) / root).margin(1e-4));
    }
}

TEST_CASE("exhibits: paris is nearly certain after france and a guess before it", "[viewer][xlnet]") {
    PermutationExhibit exhibit;
    const auto chances = [&](const CardRow& cards) {
        StreamVisibility visible = visibility_of(cards);
        for (const Index i : given_of(cards)) visible.query.row(i) = visible.content.row(i);
        return exhibit.answer(predicted_of(cards), visible.query).probabilities;
    };
    // As transformers has it (tests/oracle/tiny_xlnet_trained), without the padding that changes nothing.
    const std::vector<double> after = chances({0, 1, 2, 4, 6, 7, 8, kDivider, 3, 5});
    REQUIRE(after.size() == 2);
    CHECK(after[0] == Approx(0.254).margin(1e-3));
    CHECK(after[1] == Approx(0.9944).margin(1e-3));
    const std::vector<double> before = chances({0, 1, 2, 4, 6, 7, 8, kDivider, 5, 3});
    CHECK(before[0] == Approx(0.0954).margin(1e-3));
    CHECK(before[1] == Approx(0.9794).margin(1e-3));
    CHECK(exhibit.answer({}, Visibility::Ones(9, 9)).probabilities.empty());
}
