// The Permutation page: its sentence, anybody's, every cell of both streams, and who is predicted.
#include "viewer/data/permutation_sentence.h"

#include <catch2/catch.hpp>

#include "tests/files.h"
#include "viewer/plots/cell_text.h"
#include "viewer/state/state.h"

namespace locus::test::test_permutation_sentence {

namespace {

std::shared_ptr<const PermutationSentence> opened_sentence(const ModelChoice& choice = State().choices.xlnet) {
    const auto opened = std::make_shared<const ModelSession>(choice.model, Family::xlnet);
    return std::make_shared<const PermutationSentence>(opened, choice);
}

ModelChoice choice_of(const std::string& text) {
    ModelChoice choice = State().choices.xlnet;
    choice.text = text;
    return choice;
}

std::shared_ptr<const PermutationAnswer> ask(const PermutationRequest& request) {
    auto answer = PermutationAnswer::make(request);
    REQUIRE(answer->error.empty());
    return answer;
}

}  // namespace

TEST_CASE("permutation sentence: paris is nearly certain after france and a guess before it", "[viewer][xlnet]") {
    const auto sentence = opened_sentence();
    CHECK(sentence->usual_cards() == CardRow{0, 1, 2, 4, 6, 7, 8, kDivider, 3, 5});
    const auto answer = ask({sentence, sentence->usual_cards(), false, 0});
    // As transformers has it (tests/oracle/tiny_xlnet_trained), without the padding that changes nothing.
    REQUIRE(answer->chances.size() == 2);
    CHECK(answer->chances[0].probability == Approx(0.254).margin(1e-3));
    CHECK(answer->chances[1].probability == Approx(0.9944).margin(1e-3));
    CHECK(answer->chances[1].best == "paris");
    REQUIRE(answer->reversed.size() == 2);
    CHECK(answer->reversed[0].position == 5);
    CHECK(answer->reversed[0].probability == Approx(0.0954).margin(1e-3));
    CHECK(answer->reversed[1].probability == Approx(0.9794).margin(1e-3));
    const auto given = ask({sentence, cards_of_text("-", 9), false, 0});
    CHECK(given->chances.empty());
    CHECK(given->stage(Stream::query, 0, "probs", 0).size() == 0);
    CHECK(given->stage(Stream::content, 0, "probs", 0).rows() == 9);
}

TEST_CASE("permutation sentence: what is drawn as hidden is what the model hides, left to right and by --mask too",
          "[viewer][xlnet]") {
    ModelChoice left_to_right;
    left_to_right.model = std::string(LOCUS_SOURCE_DIR) + "/tests/oracle/hf_xlnet_uni/model";
    left_to_right.tokens = "1,5,9,12,3,7,20,2";
    ModelChoice padded = left_to_right;
    padded.model = State().choices.xlnet.model;
    padded.mask = "0,0,1,1,1,1,1,1";
    for (const ModelChoice& choice : {left_to_right, padded}) {
        INFO(choice.model);
        const auto sentence = opened_sentence(choice);
        CHECK_FALSE(sentence->hides_more().empty());
        const CardRow cards = cards_of_text("7 4", 8);
        const auto answer = ask({sentence, cards, false, 0});
        const StreamVisibility seen = sentence->visible(cards);
        CHECK(seen.content.sum() < visibility_of(cards).content.sum());
        for (const Stream stream : {Stream::content, Stream::query})
            for (Index i = 0; i < 8; ++i) {
                const Index row = answer->row_of(stream, i);
                if (row < 0) continue;
                for (Index j = 0; j < 8; ++j)
                    CHECK((answer->stage(stream, 0, "probs", 0)(row, j) > 0) ==
                          ((stream == Stream::content ? seen.content : seen.query)(i, j) != 0));
            }
    }
    const auto plain = opened_sentence();
    CHECK(plain->hides_more().empty());
    const StreamVisibility seen = plain->visible(plain->usual_cards()), order = visibility_of(plain->usual_cards());
    CHECK(seen.content == order.content);
    CHECK(seen.query == order.query);
}

TEST_CASE("permutation sentence: every cell of both streams is the trace's, to the last bit",
          "[viewer][xlnet][microscope][law]") {
    const auto sentence = opened_sentence();
    for (const bool segments : {false, true})
        for (const char* order : {"4 6", "9 1 5 3 2 4 6 7 8"}) {
            const auto answer = ask({sentence, cards_of_text(order, 9), segments, 0});
            for (const Stream stream : {Stream::content, Stream::query})
                for (Index head = 0; head < 4; ++head) {
                    const RelativeHeadTensors<float> tensors = answer->head(stream, 3, head);
                    const Matrix<float> scores = answer->stage(stream, 3, "scores", head);
                    const Matrix<float> probs = answer->stage(stream, 3, "probs", head);
                    REQUIRE(scores.rows() == tensors.q.rows());
                    for (Index i = 0; i < scores.rows(); ++i)
                        for (Index j = 0; j < 9; ++j) {
                            const auto cell = explain_relative_cell<float>(tensors, i, j);
                            REQUIRE(cell.score == scores(i, j));
                            REQUIRE(cell.softmax.probability == probs(i, j));
                            REQUIRE(cell.ef.active == segments);
                            // The reason speaks exactly where the cell is closed.
                            const bool open =
                                hidden_by(9, answer->hiding, stream, cell.position, j) == HiddenBy::nothing;
                            REQUIRE(open == cell.softmax.visible);
                        }
                    for (Index i = 0; i < 9; ++i)
                        if (const Index row = answer->row_of(stream, i); row >= 0)
                            CHECK(tensors.positions[static_cast<std::size_t>(row)] == i);
                }
        }
}

TEST_CASE("permutation sentence: a copied cell says of which segments it is, and has no such term without them",
          "[viewer][xlnet][microscope]") {
    const auto sentence = opened_sentence();
    const auto text_of = [&](bool segments, Index j) {
        const auto answer = ask({sentence, cards_of_text("4 6", 9), segments, 0});
        const auto cell = explain_relative_cell<float>(answer->head(Stream::content, 3, 1), 0, j);
        const std::string text = cell_text(cell, RelativeScheme::xlnet, {"tiny-xlnet", "", "the", "the", ""}, {});
        const std::string sum = segments ? "\nsum ac + bd + ef            " : "\nsum ac + bd                 ";
        CHECK_THAT(text, Catch::Contains(sum + exact_text(cell.sum) + "\n"));
        CHECK((text.find("(q+s)\u00b7g") != std::string::npos) == segments);
        return text;
    };
    REQUIRE(sentence->types().front() != sentence->types().back());
    CHECK_THAT(text_of(true, 1), Catch::Contains("the same: row 0 of the table"));
    CHECK_THAT(text_of(true, 8), Catch::Contains("another one: row 1 of the table"));
    CHECK_THAT(text_of(false, 8), !Catch::Contains("of the table"));
    // Of a hidden pair the sum is that of the other terms, and the text says so.
    const auto answer = ask({sentence, sentence->usual_cards(), false, 0});
    const auto hidden = explain_relative_cell<float>(answer->head(Stream::content, 0, 0), 0, 3);
    REQUIRE_FALSE(hidden.softmax.visible);
    CHECK(hidden.sum == hidden.ac.value);
    CHECK(hidden.bd.value != 0);
    CHECK_THAT(cell_text(hidden, RelativeScheme::xlnet, {"tiny-xlnet", "", "the", "france", ""}, {}),
               Catch::Contains("\nsum ac + bd, bd as 0        " + exact_text(hidden.ac.value) + "\n"));
}

TEST_CASE("permutation sentence: what the page draws is what the model is given", "[viewer][xlnet][law]") {
    const auto sentence = opened_sentence();
    for (const char* order : {"4 6", "6 4", "9 1 5 3 2 4 6 7 8", "1"}) {
        const CardRow cards = cards_of_text(order, 9);
        const auto answer = ask({sentence, cards, false, 0});
        const StreamVisibility drawn = visibility_of(cards);
        const TwoStreamMasks given = two_stream_masks(9, answer->hiding);
        CHECK(given.content == drawn.content);
        for (const Index target : predicted_of(cards)) CHECK(given.query.row(target) == drawn.query.row(target));
    }
}

TEST_CASE("permutation sentence: any sentence; a mask is a question", "[viewer][xlnet]") {
    const auto sentence = opened_sentence(choice_of("the capital of france is [MASK]."));
    const CardRow cards = sentence->usual_cards();
    const std::vector<Index> targets = predicted_of(cards);
    REQUIRE(targets.size() == 1);
    CHECK(sentence->is_mask(targets.front()));
    const auto answer = ask({sentence, cards, false, 0});
    CHECK(answer->chances.front().best == "paris");
    CHECK(answer->chances.front().best_probability > 0.5);
    CHECK(answer->chances.front().probability < 0.5);  // of the mask itself
    CHECK(answer->reversed.empty());                   // one word has no other order
    CHECK(answer->row_of(Stream::content, answer->length() - 1) == answer->length() - 1);
    CHECK(answer->row_of(Stream::content, answer->length()) == -1);
    CHECK(answer->row_of(Stream::query, targets.front()) == 0);
    CHECK(answer->row_of(Stream::query, 0) == -1);
    const auto own = opened_sentence(choice_of("lucy went to the market"));
    std::string names;
    for (const Index position : predicted_of(own->usual_cards()))
        names += own->words()[static_cast<std::size_t>(position)] + " ";
    CHECK(names == "the market ");
    CHECK(own->types().back() == 2);
}

TEST_CASE("permutation sentence: one word, and six hundred", "[viewer][xlnet]") {
    ModelChoice choice = State().choices.xlnet;
    choice.tokens = "9";
    const auto one = opened_sentence(choice);
    const auto answer = ask({one, cards_of_text("1", 1), false, 0});
    // It sees nothing, so the code weighs all keys alike: the only one.
    const auto cell = explain_relative_cell<float>(answer->head(Stream::query, 0, 0), 0, 0);
    CHECK(cell.softmax.sees_nothing);
    CHECK(cell.softmax.probability == answer->stage(Stream::query, 0, "probs", 0)(0, 0));
    CHECK_THAT(cell_text(cell, RelativeScheme::xlnet, {"tiny-xlnet", "", "a", "a", ""}, {}),
               Catch::Contains("the query sees no key at all\nprobability                 1\n"));
    std::string words;
    for (int n = 0; n < 600; ++n) words += n % 2 == 0 ? "paris " : "france ";
    const auto many = opened_sentence(choice_of(words));
    const auto long_answer = ask({many, many->usual_cards(), false, 2});
    CHECK(long_answer->layer == 2);
    CHECK(long_answer->stage(Stream::query, 2, "probs", 1).cols() == long_answer->length());
    CHECK(long_answer->stage(Stream::content, 1, "probs", 1).size() == 0);
}

TEST_CASE("permutation sentence: what cannot be shown is said in one sentence", "[viewer][xlnet]") {
    CHECK_THROWS_WITH(opened_sentence(choice_of(" ")), Catch::Contains("the text is empty"));
    ModelChoice choice = State().choices.xlnet;
    choice.tokens = "3,5000";
    CHECK_THROWS_WITH(opened_sentence(choice), Catch::Contains("5000") && Catch::Contains("below 5000"));
    choice = State().choices.xlnet;
    choice.model = "tiny-txl";
    CHECK_THROWS_WITH(opened_sentence(choice), Catch::Contains("transfo-xl"));
    const test::TemporaryFolder folder;
    for (const char* file : {"config.json", "pytorch_model.bin"})
        std::filesystem::copy(resolve_model("tiny-xlnet") / file, folder / file);
    choice.model = (folder / "").string();
    CHECK_THROWS_WITH(opened_sentence(choice), Catch::Contains("tokens"));
    choice.tokens = "9,120,26";
    CHECK(opened_sentence(choice)->words() == std::vector<std::string>{"9", "120", "26"});
}

}  // namespace locus::test::test_permutation_sentence
