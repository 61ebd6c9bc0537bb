// What the pages of the other families open on really shows what they say.
#include "viewer/data/rotary_sentence.h"

#include <cmath>

#include "core/attention/rotary.h"
#include "tests/changed_model.h"
#include "viewer/state/state.h"

namespace locus::test::test_rotary_sentence {

namespace {

RotarySentence rotary(const ModelChoice& choice = State().choices.roformer) {
    return RotarySentence(std::make_shared<const ModelSession>(choice.model, Family::roformer), choice);
}

}  // namespace

TEST_CASE("rotary sentence: the rope page opens on a head that looks one token back", "[viewer][rope]") {
    const RotarySentence sentence = rotary();
    const RopeState state;
    const Matrix<float> attention = sentence.attention(state.layer, state.head);
    REQUIRE(attention.rows() == static_cast<Index>(sentence.words().size()));
    CHECK(state.query - state.key == 1);
    Index best = -1;
    attention.row(state.query).maxCoeff(&best);
    CHECK(best == state.key);
    CHECK(sentence.query(state.layer, state.head, state.query).size() == sentence.sizes().head_width);
}

TEST_CASE("rotary sentence: a word that the vocabulary lacks stands before the piece that is read in its place",
          "[viewer][rope]") {
    ModelChoice choice = State().choices.roformer;
    choice.text = "a z\u044f [MASK] \u6f22.";
    CHECK(rotary(choice).words() ==
          std::vector<std::string>{"[CLS]", "a", "z", "\u044f [UNK]", "[MASK]", "\u6f22 [UNK]", ".", "[SEP]"});
    choice.tokens = "2,1,3";
    CHECK(rotary(choice).words() == std::vector<std::string>{"[CLS]", "[UNK]", "[SEP]"});
}

TEST_CASE("rotary sentence: every head's scores and attention are the stages of the model's own pass",
          "[viewer][rope][law]") {
    ModelChoice padded = State().choices.roformer;
    padded.tokens = "2,40,453,4,553,3";
    padded.mask = "1,1,1,1,1,0";
    for (const ModelChoice& choice : {State().choices.roformer, padded}) {
        const ModelSession opened(choice.model, Family::roformer);
        const Trace trace = opened.model().forward({opened.input_of(choice)}, Dialect::official);
        const RotarySentence sentence = rotary(choice);
        for (Index layer = 0; layer < sentence.sizes().layers; ++layer)
            for (Index head = 0; head < sentence.sizes().heads; ++head) {
                const auto stage = [&](const char* stem) -> Matrix<float> {
                    return trace.at("layer." + std::to_string(layer) + "." + stem).as<float>().matrix(head);
                };
                CHECK(sentence.scores(layer, head) == stage("scores"));
                CHECK(sentence.attention(layer, head) == stage("probs"));
                CHECK(sentence.key(layer, head, 3) == stage("k").row(3).cast<double>());
            }
    }
}

TEST_CASE("rotary sentence: linear attention turns its numerator alone, and hidden keys weigh nothing",
          "[viewer][rope][linear]") {
    ModelChoice choice = State().choices.roformer;
    choice.tokens = "2,40,453,4,553,3";
    choice.mask = "1,1,1,1,1,0";
    const RotarySentence sentence = rotary(choice);
    const Index width = sentence.sizes().head_width;
    const std::vector<double> theta = inverse_frequencies(width);
    const auto phi = [](double x) { return x > 0 ? x + 1 : std::exp(x); };
    const Matrix<float> found = sentence.linear_weights(1, 2);
    for (Index i = 0; i < 6; ++i) {
        std::vector<double> above(6, 0.0);
        double below = 0;
        for (Index j = 0; j < 5; ++j)
            for (Index t = 0; t < width / 2; ++t) {
                const RowVector<double> q = sentence.query(1, 2, i), k = sentence.key(1, 2, j);
                const double qa = phi(q[2 * t]), qb = phi(q[2 * t + 1]), ka = phi(k[2 * t]), kb = phi(k[2 * t + 1]);
                const double angle = static_cast<double>(i - j) * theta[static_cast<std::size_t>(t)];
                above[static_cast<std::size_t>(j)] +=
                    (qa * ka + qb * kb) * std::cos(angle) + (qa * kb - qb * ka) * std::sin(angle);
                below += qa * ka + qb * kb;
            }
        for (Index j = 0; j < 6; ++j)
            CHECK(found(i, j) == Approx(above[static_cast<std::size_t>(j)] / below).margin(1e-6));
    }
}

TEST_CASE("rotary sentence: in a decoder no query sees a later token", "[viewer][rope][linear]") {
    const TemporaryFolder folder;
    copy_changed(fs::path(LOCUS_SOURCE_DIR) / "assets/models/tiny-roformer", folder / "decoder",
                 {{"is_decoder", true}});
    ModelChoice choice = State().choices.roformer;
    choice.model = (folder / "decoder").string();
    choice.tokens = "2,40,453,4,553,3";
    choice.mask = "1,1,1,0,1,1";
    const RotarySentence sentence = rotary(choice);
    const auto model = open_case_model<float>(folder / "decoder");
    ModelInput input;
    input.tokens = IndexTensor({1, 6}, {2, 40, 453, 4, 553, 3});
    input.mask = IndexTensor({1, 6}, {1, 1, 1, 0, 1, 1});
    const auto probs = model->forward({input}, Dialect::official).at("layer.1.probs").as<float>();
    CHECK(sentence.attention(1, 2) == probs.matrix(2));
    const Matrix<float> linear = sentence.linear_weights(1, 2);
    for (Index i = 0; i < 6; ++i)
        for (Index j = 0; j < 6; ++j) {
            CHECK((sentence.visible()(i, j) != 0) == (j <= i && j != 3));
            CHECK((linear(i, j) != 0) == (j <= i && j != 3));
            const LinearExplanation<float> cell = sentence.explain_linear(1, 2, i, j);
            REQUIRE(cell.keys.size() == 6);  // the page shows them all, and the chosen one by its number
            CHECK((cell.keys[static_cast<std::size_t>(j)].numerator != 0) == (j <= i && j != 3));
            CHECK(cell.weight == linear(i, j));
        }
}

TEST_CASE("rotary sentence: the vectors on the rope page, rotated, give the model's attention", "[viewer][rope][law]") {
    const RotarySentence sentence = rotary();
    const auto tokens = static_cast<Index>(sentence.words().size());
    const Index width = sentence.sizes().head_width;
    Matrix<double> q(tokens, width), k(tokens, width);
    for (Index t = 0; t < tokens; ++t) {
        q.row(t) = sentence.query(1, 2, t);
        k.row(t) = sentence.key(1, 2, t);
    }
    const auto table = rotary_table<double>(inverse_frequencies(width), 0, tokens);
    const Matrix<double> expected =
        masked_softmax<double>(rotary_scores<double>(q, k, table, table, RotaryLayout::interleaved), {});
    const Matrix<float> found = sentence.attention(1, 2);
    for (Index n = 0; n < found.size(); ++n) CHECK(found.data()[n] == Approx(expected.data()[n]).margin(1e-5));
}

}  // namespace locus::test::test_rotary_sentence
