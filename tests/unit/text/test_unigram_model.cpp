// The unigram model against every way there is to cut a word.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/text/tokenizers/unigram_model.h"
#include "tests/files.h"

namespace locus::test::test_unigram_model {

using Catch::Contains;
using List = std::vector<std::pair<std::string, double>>;

namespace {

/// The best score of all cuts of a word whose letters are all pieces: tries each first piece.
double best_score(const std::string& word, const List& pieces) {
    if (word.empty()) return 0;
    double best = -INFINITY;
    for (const auto& [piece, score] : pieces)
        if (word.starts_with(piece)) best = std::max(best, score + best_score(word.substr(piece.size()), pieces));
    return best;
}

double score_of(const std::vector<Piece>& pieces, const List& list) {
    double score = 0;
    for (const Piece& one : pieces) score += list[static_cast<std::size_t>(one.id)].second;
    return score;
}

std::vector<Piece> cut(const UnigramModel& model, const std::string& word) {
    std::vector<Piece> pieces;
    model.cut(word, pieces);
    return pieces;
}

}  // namespace

TEST_CASE("unigram: no cut of a word scores higher", "[tokenizer][unigram][law]") {
    std::mt19937 generator(2);
    std::uniform_real_distribution<double> scores(-10, -1);
    for (int round = 0; round < 300; ++round) {
        List list = {{"a", scores(generator)}, {"b", scores(generator)}, {"\u00e9", scores(generator)}};
        for (const char* piece : {"ab", "ba", "aa", "aba", "b\u00e9", "\u00e9a", "abab", "bb"})
            if (generator() % 2) list.emplace_back(piece, scores(generator));
        const UnigramModel model(list, std::nullopt, false, "list");
        std::string word;
        for (std::size_t n = 1 + generator() % 10; n > 0; --n) word += list[generator() % 3].first;
        const auto pieces = cut(model, word);
        std::string joined;
        for (const Piece& one : pieces) joined += one.text;
        CHECK(joined == word);
        CHECK(score_of(pieces, list) == Approx(best_score(word, list)).epsilon(1e-12));
    }
}

TEST_CASE("unigram: unknown characters in a row are one piece", "[tokenizer][unigram]") {
    const UnigramModel model({{"<unk>", 0}, {"a", -1}}, 0, false, "list");
    const auto pieces = cut(model, "axyaz");
    REQUIRE(pieces.size() == 4);
    CHECK(pieces[1].text == "xy");
    CHECK(pieces[1].id == 0);
    CHECK(pieces[3].text == "z");
    const UnigramModel dear({{"<unk>", 0}, {"a", -1}, {"xy", -5}}, 0, false, "list");
    CHECK(cut(dear, "wxy").size() == 2);  // an unknown character costs more than any piece
    CHECK(model.find("a") == 1);
    CHECK(model.piece(1) == "a");
    CHECK_FALSE(model.piece(2));
}

TEST_CASE("unigram: what is no vocabulary is refused", "[tokenizer][unigram]") {
    const auto refused = [](const List& list, std::optional<std::size_t> unknown) {
        return refusal([&] { UnigramModel(list, unknown, false, "list"); });
    };
    CHECK_THAT(refused({}, std::nullopt), Contains("list: holds no piece"));
    CHECK_THAT(refused({{"a", -1}}, 1), Contains("unk_id is 1"));
    CHECK_THAT(refused({{"a", -1}, {"a", -2}}, 0), Contains("\"a\" is there twice, with the ids 0 and 1"));
    CHECK_THAT(refused({{"", -1}}, 0), Contains("piece 0 is \"\""));
    CHECK_THAT(refused({{"a", -INFINITY}}, 0), Contains("finite score"));
    const UnigramModel model({{"a", -1}}, std::nullopt, false, "list");
    CHECK_THAT(refusal([&] { cut(model, "ab"); }, Fault::usage), Contains("no unknown one"));
}

}  // namespace locus::test::test_unigram_model
