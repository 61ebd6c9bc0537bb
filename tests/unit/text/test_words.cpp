#include <catch2/catch.hpp>

#include "core/text/statistics/stop_words.h"
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

}  // namespace locus::test::test_words
