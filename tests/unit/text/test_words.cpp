#include <catch2/catch.hpp>

#include "core/text/statistics/ngrams.h"
#include "core/text/statistics/tf_idf.h"
#include "core/text/statistics/words.h"
#include "tests/files.h"

namespace locus::test::test_words {

using Catch::Contains;

TEST_CASE("words: punctuation and space are dropped, whatever they are", "[text][words]") {
    CHECK(split_words("a new car, used car, car review") ==
          Document{"a", "new", "car", "used", "car", "car", "review"});
    CHECK(split_words("don't pay 3.14 (or 1,000)!") == Document{"don't", "pay", "3.14", "or", "1,000"});
    CHECK(split_words("  \t\r\n\u3000 --- \u2026 \U0001F600 ").empty());
    CHECK(split_words("").empty());
}

TEST_CASE("words: Hangul by its spaces, Chinese by dictionary, letters beyond 16 bits", "[text][words]") {
    CHECK(split_words("발 없는 말이 천리 간다.") == Document{"발", "없는", "말이", "천리", "간다"});
    CHECK(split_words("我爱北京").size() < 4);  // 北京 is one word
    CHECK(split_words("\U00010400\U00010428 x") == Document{"\U00010400\U00010428", "x"});
    CHECK(split_words("naïve straße") == Document{"naïve", "straße"});
}

TEST_CASE("words: one word typed in two ways is one word", "[text][words]") {
    const std::string composed = "\uAC00\u00E9", decomposed = "\u1100\u1161e\u0301";
    CHECK(composed != decomposed);
    CHECK(normalise_text(decomposed) == composed);
    CHECK(normalise_text("CAR Car \u00C9") == "car car \u00E9");
    CHECK(normalise_text("CAR E\u0301", true) == "CAR \u00C9");
    CHECK(normalise_text("\u03A3\u038A\u03A3\u03A5\u03A6\u039F\u03A3") == "\u03C3\u03AF\u03C3\u03C5\u03C6\u03BF\u03C2");
}

TEST_CASE("words: a character is what a reader calls one", "[text][words]") {
    CHECK(split_characters("e\u0301\U0001F1F0\U0001F1F7x").size() == 3);
    CHECK(split_characters(" a \t\r\n b ") == std::vector<std::string>{"a", " ", "b"});
    CHECK(split_characters("\u1100\u1161\u11A8") == std::vector<std::string>{"\u1100\u1161\u11A8"});
    CHECK(split_characters("").empty());
}

TEST_CASE("words: what is not UTF-8 becomes U+FFFD and is counted", "[text][words]") {
    const auto repaired = [](const std::string& bytes) {
        const RepairedText text = repair_utf8(bytes);
        return std::pair{text.text, static_cast<Index>(text.replaced)};
    };
    CHECK(repaired("a\xff z") == std::pair{std::string("a\uFFFD z"), Index{1}});
    CHECK(repaired("\xe2\x82") == std::pair{std::string("\uFFFD"), Index{1}});  // the end is missing: one place
    CHECK(repaired("\xe2\x82"
                   "a") == std::pair{std::string("\uFFFDa"), Index{1}});
    CHECK(repaired("\xed\xa0\x80").second == 3);      // half of a surrogate pair
    CHECK(repaired("\xc0\xaf").second == 2);          // an overlong slash
    CHECK(repaired("\xf4\x90\x80\x80").second == 4);  // beyond U+10FFFF
    CHECK(repaired("발 \U0001F600") == std::pair{std::string("발 \U0001F600"), Index{0}});
    CHECK(repaired("") == std::pair{std::string(), Index{0}});
}

TEST_CASE("words: text that was not repaired is refused", "[text][words]") {
    CHECK_THAT(refusal([] { split_words("a \xff"); }, Fault::usage), Contains("not UTF-8 at byte 2"));
    CHECK_THAT(refusal([] { split_characters("\xff"); }, Fault::usage), Contains("byte 0"));
    CHECK_THAT(refusal([] { normalise_text("ab\xff"); }, Fault::usage), Contains("byte 2"));
}

TEST_CASE("words: English stop words leave what a document is about", "[text][words]") {
    CHECK(without_words(split_words("the king speaks to the crowd in london"), english_stop_words()) ==
          Document{"king", "speaks", "crowd", "london"});
    for (const std::string& word : english_stop_words()) CHECK(split_words(normalise_text(word)) == Document{word});
}

using Strings = std::vector<std::string>;

namespace {

Strings texts_of(const std::vector<Counted>& counted) {
    Strings texts;
    for (const Counted& one : counted) texts.push_back(one.text);
    return texts;
}

const std::vector<Document> kHow = {split_words("how are you doing"), split_words("how are you"),
                                    split_words("how are they")};

}  // namespace

TEST_CASE("bag of words: the source's sentence, counts in order of first occurrence", "[text][golden]") {
    const BagOfWords bag = bag_of_words({split_words("machine learning is fun and is not boring")});
    CHECK(bag.words.words() == Strings{"machine", "learning", "is", "fun", "and", "not", "boring"});
    RowVector<double> expected(7);
    expected << 1, 1, 2, 1, 1, 1, 1;
    CHECK(Matrix<double>(bag.counts) == expected);
}

TEST_CASE("bag of words: order is lost, home run is run home", "[text][law]") {
    const BagOfWords bag = bag_of_words({{"home", "run"}, {"run", "home"}});
    const Matrix<double> counts = bag.counts;
    CHECK(counts.row(0) == counts.row(1));
    CHECK(word_ngrams({"home", "run"}, 2) != word_ngrams({"run", "home"}, 2));
}

TEST_CASE("bag of words: rows sum to the lengths, and an empty document is a row of zeros", "[text][law]") {
    const std::vector<Document> documents = {{"a", "b", "a"}, {}, {"c"}};
    const Matrix<double> counts = bag_of_words(documents).counts;
    REQUIRE(counts.rows() == 3);
    REQUIRE(counts.cols() == 3);
    for (Index row = 0; row < 3; ++row)
        CHECK(counts.row(row).sum() == static_cast<double>(documents[static_cast<std::size_t>(row)].size()));
}

TEST_CASE("bag of words: words never met are counted apart", "[text]") {
    const BagOfWords bag = bag_of_words({{"a", "b"}});
    const CountedDocument counted = count_words({"b", "x", "b", "y"}, bag.words);
    CHECK(counted.counts == RowVector<double>{{0, 2}});
    CHECK(counted.unknown == 2);
}

TEST_CASE("bag of words: nothing to count is refused", "[text]") {
    CHECK_THAT(refusal([] { bag_of_words({}); }, Fault::usage), Contains("no documents"));
    CHECK_THAT(refusal([] { bag_of_words({{}, {}}); }, Fault::usage), Contains("2 documents"));
}

TEST_CASE("n-grams: fine thank you", "[text][golden]") {
    const Document words = split_words("fine thank you");
    CHECK(word_ngrams(words, 1) == Strings{"fine", "thank", "you"});
    CHECK(word_ngrams(words, 2) == Strings{"fine thank", "thank you"});
    CHECK(word_ngrams(words, 3) == Strings{"fine thank you"});
    CHECK(word_ngrams(words, 4).empty());
    CHECK(character_ngrams("fine thank you", 1).size() == 14);
    CHECK(character_ngrams("fine thank you", 2) ==
          Strings{"fi", "in", "ne", "e ", " t", "th", "ha", "an", "nk", "k ", " y", "yo", "ou"});
    CHECK(character_ngrams("fine thank you", 3) ==
          Strings{"fin", "ine", "ne ", "e t", " th", "tha", "han", "ank", "nk ", "k y", " yo", "you"});
}

TEST_CASE("n-grams: not boring becomes a token", "[text][golden]") {
    const auto counted = count_each(word_ngrams(split_words("machine learning is fun and is not boring"), 2));
    CHECK(texts_of(counted) ==
          Strings{"machine learning", "learning is", "is fun", "fun and", "and is", "is not", "not boring"});
    for (const Counted& one : counted) CHECK(one.count == 1);
}

TEST_CASE("n-grams: trigrams of three greetings", "[text][golden]") {
    Strings grams;
    for (const Document& document : kHow)
        for (const std::string& gram : word_ngrams(document, 3)) grams.push_back(gram);
    CHECK(count_each(grams) == std::vector<Counted>{{"how are you", 2}, {"are you doing", 1}, {"how are they", 1}});
}

TEST_CASE("n-grams: character bigrams of quality, quater, quit", "[text][golden]") {
    Strings grams;
    for (const char* word : {"quality", "quater", "quit"})
        for (const std::string& gram : character_ngrams(word, 2)) grams.push_back(gram);
    CHECK(count_each(grams) == std::vector<Counted>{{"qu", 3},
                                                    {"ua", 2},
                                                    {"al", 1},
                                                    {"li", 1},
                                                    {"it", 2},
                                                    {"ty", 1},
                                                    {"at", 1},
                                                    {"te", 1},
                                                    {"er", 1},
                                                    {"ui", 1}});
}

TEST_CASE("n-grams: length - n + 1 of them, in any script", "[text][law]") {
    for (Index n = 1; n <= 6; ++n) {
        CHECK(static_cast<Index>(character_ngrams("발 없는", n).size()) == std::max<Index>(0, 4 - n + 1));
        CHECK(static_cast<Index>(word_ngrams({"a", "b", "a"}, n).size()) == std::max<Index>(0, 3 - n + 1));
    }
    CHECK(character_ngrams("발 없는", 2) == Strings{"발 ", " 없", "없는"});
}

TEST_CASE("n-grams: n below 1 is refused", "[text]") {
    CHECK_THAT(refusal([] { word_ngrams({"a"}, 0); }, Fault::usage), Contains("n is 0"));
    CHECK_THAT(refusal([] { character_ngrams("a", -3); }, Fault::usage), Contains("n is -3"));
    CHECK_THAT(refusal([] { NextWordTable(kHow, 0); }, Fault::usage), Contains("n is 0"));
    CHECK_THAT(refusal([] { suggest_words("a", {{"b", 1}}, 0); }, Fault::usage), Contains("n is 0"));
}

TEST_CASE("next word: after how are comes you", "[text][golden]") {
    const std::vector<NextWord> next = NextWordTable(kHow, 3).after({"how", "are"});
    REQUIRE(next.size() == 2);
    CHECK(next[0].word == "you");
    CHECK(next[0].count == 2);
    CHECK(next[0].probability == 2.0 / 3);
    CHECK(next[1].word == "they");
    CHECK(next[1].count == 1);
    CHECK(next[1].probability == 1.0 / 3);
}

TEST_CASE("next word: probabilities of a context sum to 1, and documents do not run into each other", "[text][law]") {
    for (Index n = 1; n <= 4; ++n) {
        const NextWordTable table(kHow, n);
        double sum = 0;
        for (const NextWord& next : table.after({"well", "how", "are", "you"})) sum += next.probability;
        CHECK(std::abs(sum - 1) <= 1e-15);
    }
    CHECK(NextWordTable(kHow, 2).after({"doing"}).empty());
    CHECK(NextWordTable(kHow, 3).after({"are", "they"}).empty());
    CHECK(NextWordTable({{"ab", "c", "x"}, {"a", "bc", "y"}}, 3).after({"a", "bc"}).front().word == "y");
    CHECK_THAT(refusal([] { NextWordTable(kHow, 3).after({"are"}); }, Fault::usage), Contains("expected 2 or more"));
}

TEST_CASE("spelling: qwal is quality with a wrong w", "[text][golden]") {
    const std::vector<Counted> known = {{"quality", 1}, {"quater", 1}, {"quit", 1}};
    CHECK(unknown_ngrams("qwal", known) == Strings{"qw", "wa"});
    CHECK(unknown_ngrams("qual", known).empty());
    const std::vector<Suggestion> suggestions = suggest_words("qwal", known);
    REQUIRE(suggestions.size() == 1);
    CHECK(suggestions[0].word == "quality");
    CHECK(suggestions[0].similarity == 2.0 / 9);  // "al" of 3 + 6
}

TEST_CASE("spelling: similarity is symmetric, 1 for itself, and counts what repeats", "[text][law]") {
    for (const char* a : {"quality", "aaaa", "한국어", "x", "quit"})
        for (const char* b : {"quality", "aa", "한국말", "x", "quiet"}) {
            const double similarity = ngram_similarity(a, b);
            CHECK(similarity == ngram_similarity(b, a));
            CHECK((similarity >= 0 && similarity <= 1));
            CHECK((similarity == 1) == (std::string(a) == b));
        }
    CHECK(ngram_similarity("aaaa", "aa") == 0.5);  // one of 3 + 1
    CHECK(ngram_similarity("x", "y") == 0);
}

TEST_CASE("spelling: the more similar first, then the more frequent, then the order met", "[text]") {
    const auto suggestions = suggest_words("cat", {{"cab", 1}, {"car", 5}, {"can", 5}, {"cats", 1}, {"dog", 9}});
    Strings words;
    for (const Suggestion& one : suggestions) words.push_back(one.word);
    CHECK(words == Strings{"cats", "car", "can", "cab"});
}

}  // namespace locus::test::test_words
