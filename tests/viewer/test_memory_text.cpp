// The Transformer-XL page: its story, anybody's text, and every cell as the microscope replays it.
#include "viewer/data/memory_text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tests/files.h"
#include "viewer/plots/cell_text.h"
#include "viewer/state/state.h"

namespace locus::test::test_memory_text {

namespace {

std::shared_ptr<const MemoryText> story(const ModelChoice& choice = State().choices.transformer_xl) {
    const auto opened = std::make_shared<const ModelSession>(choice.model, Family::transformer_xl);
    return std::make_shared<const MemoryText>(opened, choice);
}

std::shared_ptr<const MemoryAnswer> ask(const MemoryRequest& request) {
    auto answer = MemoryAnswer::make(request);
    REQUIRE(answer->error.empty());
    return answer;
}

ModelChoice choice_of(const std::string& text) {
    ModelChoice choice = State().choices.transformer_xl;
    choice.text = text;
    return choice;
}

}  // namespace

TEST_CASE("memory text: the story's next word is known with the memory and not without it",
          "[viewer][transformer-xl]") {
    const MemoryState state;
    const auto answer = ask({story(), state.segment_tokens, state.segment, state.memory, state.layer});
    REQUIRE(answer->segments == 3);
    REQUIRE(answer->longest == state.memory);
    REQUIRE(answer->length == 24);
    REQUIRE(answer->layer == -1);
    const MemoryText& sentence = *answer->request.sentence;
    CHECK(sentence.word_of(answer->next.at(static_cast<std::size_t>(state.cell.i))) == "bakery");
    CHECK(answer->guesses(state.cell.i, 1, true).front().word == "bakery");
    // As the official code has it (tests/oracle/tiny_txl_trained): .8199, and .7179 for the harbor without memory.
    CHECK(answer->probability_of_next(state.cell.i, true) == Approx(0.8199).margin(1e-3));
    CHECK(answer->guesses(state.cell.i, 1, false).front().word == "harbor");
    CHECK(answer->guesses(state.cell.i, 1, false).front().probability == Approx(0.7179).margin(1e-3));
    CHECK(answer->loss == Approx(0.3883).margin(1e-3));
    CHECK(answer->loss_without == Approx(1.211).margin(1e-3));
    // The cell that the page opens on: the query finds the word in the memory.
    const Matrix<float> probabilities = answer->stage(state.layer, "probs", state.head);
    Index best = -1;
    probabilities.row(state.cell.i).maxCoeff(&best);
    CHECK(best == state.cell.j);
    CHECK(best < state.memory);
}

TEST_CASE("memory text: a shorter memory holds the newest tokens", "[viewer][transformer-xl]") {
    const auto sentence = story();
    // The first layer's keys are made of single words, so those still remembered are the same ones.
    const auto keys = [&](Index memory) { return ask({sentence, 0, 1, memory, 0})->stage(0, "k", 1); };
    const Matrix<float> all = keys(24), few = keys(5);
    REQUIRE(few.rows() == 29);
    CHECK(few.isApprox(all.bottomRows(29), 1e-6f));
    CHECK_FALSE(few.topRows(5).isApprox(all.topRows(5), 0.1f));
}

TEST_CASE("memory text: every cell on the page is the trace's, to the last bit",
          "[viewer][transformer-xl][microscope][law]") {
    const auto sentence = story();
    for (const Index memory : {0, 7, 24, 48})
        for (const Index layer : {0, 3}) {
            const auto answer = ask({sentence, 0, memory > 24 ? 2 : 1, memory, 0});
            REQUIRE(answer->memory == memory);
            const RelativeHeadTensors<float> head = answer->head(layer, 2);
            const Matrix<float> scores = answer->stage(layer, "scores", 2), probs = answer->stage(layer, "probs", 2);
            REQUIRE(scores.cols() == memory + answer->length);
            for (Index i = 0; i < scores.rows(); ++i)
                for (Index j = 0; j < scores.cols(); ++j) {
                    const auto cell = explain_relative_cell<float>(head, i, j);
                    REQUIRE(cell.score == scores(i, j));
                    REQUIRE(cell.softmax.probability == probs(i, j));
                    REQUIRE(cell.a.value + cell.b.value + cell.c.value + cell.d.value ==
                            Approx(cell.ac.value + cell.bd.value).margin(1e-3));
                }
        }
}

TEST_CASE("memory text: any text and any cut into segments", "[viewer][transformer-xl]") {
    const auto sentence = story(choice_of("tom went to the market ."));  // after <eos>
    const auto usual = ask({sentence, 0, 1, 24, 0});
    CHECK(usual->segments == 2);
    CHECK(usual->length == 3);
    CHECK(usual->longest == 4);
    CHECK(usual->memory == 4);  // 24 are wished, 4 there are
    CHECK(usual->next.size() == 2);
    CHECK(usual->loss ==
          Approx(-(std::log(usual->probability_of_next(0, true)) + std::log(usual->probability_of_next(1, true))) / 2));
    const auto third = ask({sentence, 3, 2, 2, 0});
    CHECK(third->begin == 6);
    CHECK(third->length == 1);
    CHECK(third->memory == 2);
    CHECK(third->next.empty());
    CHECK(third->loss == 0);
    const auto beyond = ask({sentence, 100, 9, 24, 0});
    CHECK(beyond->segments == 1);
    CHECK(beyond->length == 7);
    CHECK(beyond->memory == 0);
}

TEST_CASE("memory text: what was asked before changes no answer", "[viewer][transformer-xl][law]") {
    const auto asked = story();
    for (const auto& [size, segment] : {std::pair<Index, Index>{24, 1}, {24, 2}, {12, 2}, {12, 1}, {24, 1}}) {
        const auto here = ask({asked, size, segment, 48, 0}), alone = ask({story(), size, segment, 48, 0});
        CHECK(here->longest == size * segment);
        CHECK(here->stage(3, "probs", 1) == alone->stage(3, "probs", 1));
        CHECK(here->loss == alone->loss);
        CHECK(here->loss_without == alone->loss_without);
    }
}

TEST_CASE("memory text: one word, and six hundred", "[viewer][transformer-xl]") {
    ModelChoice single = State().choices.transformer_xl;
    single.tokens = "5";
    const auto one = ask({story(single), 0, 1, 24, 0});
    CHECK(one->length == 1);
    CHECK(one->longest == 0);
    CHECK(explain_relative_cell<float>(one->head(0, 0), 0, 0).softmax.probability == 1);
    std::string words;
    for (int n = 0; n < 599; ++n) words += n % 2 == 0 ? "tom " : "lucy ";
    const auto sentence = story(choice_of(words));
    const auto last = ask({sentence, 0, 24, 48, 0});
    CHECK(last->segments == 25);
    CHECK(last->segment == 24);
    CHECK(last->longest == 48);
    // All at once: only one layer's numbers are kept.
    const auto whole = ask({sentence, 600, 0, 0, 2});
    CHECK(whole->layer == 2);
    CHECK(whole->stage(1, "probs", 0).size() == 0);
    CHECK(whole->stage(2, "probs", 0).rows() == 600);
}

TEST_CASE("memory text: what cannot be shown is said in one sentence", "[viewer][transformer-xl]") {
    CHECK_THROWS_WITH(story(choice_of("  ")), Catch::Contains("the text is empty"));
    ModelChoice choice = State().choices.transformer_xl;
    choice.tokens = "3,72";
    CHECK_THROWS_WITH(story(choice), Catch::Contains("72") && Catch::Contains("below 72"));
    choice = State().choices.transformer_xl;
    choice.model = "tiny-v3";
    CHECK_THROWS_WITH(story(choice), Catch::Contains("family deberta"));
    const test::TemporaryFolder folder;
    for (const char* file : {"config.json", "pytorch_model.bin"})
        std::filesystem::copy(resolve_model("tiny-txl") / file, folder / file);
    choice.model = (folder / "").string();
    CHECK_THROWS_WITH(story(choice), Catch::Contains("tokens"));
    choice.tokens = "3,5,8";
    CHECK(story(choice)->words() == std::vector<std::string>{"3", "5", "8"});
    CHECK(story(choice)->name() == folder.path().filename());
}

TEST_CASE("cell text: every number of a cell reads back with its bits", "[viewer][transformer-xl][microscope]") {
    const auto answer = ask({story(), 0, 1, 24, 0});
    const auto cell = explain_relative_cell<float>(answer->head(0, 0), 10, 18);
    const std::string text =
        cell_text(cell, RelativeScheme::transformer_xl, {"tiny-txl", "layer 0, head 0", "the", "bakery", ""},
                  shift_source(24, 48, 10, 18));
    const auto number_behind = [&](const std::string& label) {
        const std::size_t at = text.find("\n" + label);
        REQUIRE(at != std::string::npos);
        return std::strtof(text.c_str() + at + 1 + label.size(), nullptr);
    };
    CHECK(number_behind("probability") == answer->stage(0, "probs", 0)(10, 18));
    CHECK(number_behind("/ sqrt(32) = score") == answer->stage(0, "scores", 0)(10, 18));
    CHECK(number_behind("b  q\u00b7r") == cell.b.value);
    CHECK(number_behind("row of R") == 31);
    CHECK_THAT(text, Catch::Contains("tiny-txl, layer 0, head 0, cell (10, 18)"));
    CHECK_THAT(text, Catch::Contains("distance                    16 = M + i - j"));
    CHECK_THAT(text, Catch::Contains("\nquery                       \"the\", position 10 of its segment\n") &&
                         Catch::Contains("\nkey                         \"bakery\", column 18\n"));
    // Row 10 of 49 columns with the zero in front, column 47 - 16.
    CHECK_THAT(text, Catch::Contains("row 10, column 31 of (q+v)\u00b7r; 522 numbers before it in memory"));
    CHECK(number_behind("sum ac + bd") == cell.ac.value + cell.bd.value);
    CHECK(number_behind("score - row maximum") == cell.score - cell.softmax.row_maximum);
    CHECK(number_behind("exp") == cell.softmax.exponential);
    const RelativeHeadTensors<float> head = answer->head(0, 0);
    const RowVector<float> q = head.q.row(10), k = head.k.row(18), r = head.r_k.row(31);
    const auto table = [&](const std::string& heading, const std::string& names, const RowVector<float>& left,
                           const RowVector<float>& right) {
        INFO(heading);
        const std::size_t at = text.find("\n\n" + heading + " = ");
        REQUIRE(at != std::string::npos);
        std::istringstream lines(text.substr(at + 2));
        std::string line, name, one, two;
        std::getline(lines, line);
        std::getline(lines, line);
        std::istringstream(line) >> name >> one >> two;
        CHECK(one + " " + two == names);
        for (Index c = 0; c < 32; ++c) {
            Index channel = -1;
            float l = 0, x = 0, product = 0, sum = 0;
            lines >> channel >> l >> x >> product >> sum;
            REQUIRE(channel == c);
            REQUIRE(l == left[c]);
            REQUIRE(x == right[c]);
            REQUIRE(product == left[c] * right[c]);
        }
    };
    table("a  q\u00b7k", "q k", q, k);
    table("b  q\u00b7r", "q r", q, r);
    table("c  u\u00b7k", "u k", head.u, k);
    table("d  v\u00b7r", "v r", head.v, r);
    table("ac  (q+u)\u00b7k", "q+u k", q + head.u, k);
    table("bd  (q+v)\u00b7r", "q+v r", q + head.v, r);
    // Six terms, a heading, a line of names and 32 channels each; the last sum is the term.
    CHECK(std::count(text.begin(), text.end(), '\n') > 6 * 35);
    const std::string last = exact_text(cell.bd.running.back());
    CHECK(text.substr(text.size() - last.size() - 1, last.size()) == last);
    CHECK(std::strtof(last.c_str(), nullptr) == cell.bd.value);
    const auto hidden = explain_relative_cell<float>(answer->head(0, 0), 10, 40);
    const std::string sentence =
        cell_text(hidden, RelativeScheme::transformer_xl, {"tiny-txl", "", "the", "home", "it comes later"},
                  shift_source(24, 48, 10, 40));
    CHECK_THAT(sentence, Catch::Contains("comes later") && Catch::Contains("R has no row"));
}

}  // namespace locus::test::test_memory_text
