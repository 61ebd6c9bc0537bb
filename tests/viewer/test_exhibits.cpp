// What the pages of the other families open on really shows what they say.
#include "viewer/exhibits.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "core/attention/rotary.h"
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
