// The small steps of tokenizing, by hand.
#include <catch2/catch.hpp>

#include "core/text/tokenizers/bert_words.h"
#include "core/text/tokenizers/byte_level.h"
#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/split.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/utf8.h"
#include "core/text/tokenizers/xlnet_text.h"

namespace locus::test::test_text {

using Words = std::vector<std::string>;

TEST_CASE("utf8: every longest run of bytes that is no character becomes one U+FFFD", "[text]") {
    const std::string mark = "\uFFFD";
    CHECK(repair_utf8("").replaced == 0);
    CHECK(repair_utf8("a\u00e9\U0001f600").text == "a\u00e9\U0001f600");
    CHECK(repair_utf8("a\xff b").text == "a" + mark + " b");
    CHECK(repair_utf8("\xff\xfe").replaced == 2);
    CHECK(repair_utf8("\xe2\x96").replaced == 1);  // cut short: one character that never was
    CHECK(repair_utf8("\xe2\x96z").text == mark + "z");
    CHECK(repair_utf8("\xed\xa0\x80").replaced == 3);  // half of a surrogate pair
    CHECK(repair_utf8("\xc0\x80").replaced == 2);      // an overlong zero
    CHECK(repair_utf8("\xf0\x9f\x98").replaced == 1);
    CHECK(repair_utf8(mark).replaced == 0);  // one that was there does not count
    CHECK(repair_utf8(std::string("a\0b", 3)).text.size() == 3);
    CHECK_NOTHROW(check_utf8(repair_utf8("\x80 \xf8 \xc3").text));
}

TEST_CASE("split: what becomes of the matches", "[text]") {
    const Pattern dash = each_occurrence("-");
    const std::string text = "a--b-";
    CHECK(split(text, dash, Behaviour::removed) == Words{"a", "b"});
    CHECK(split(text, dash, Behaviour::isolated) == Words{"a", "-", "-", "b", "-"});
    CHECK(split(text, dash, Behaviour::merged_with_previous) == Words{"a-", "-", "b-"});
    CHECK(split(text, dash, Behaviour::merged_with_next) == Words{"a", "-", "-b", "-"});
    CHECK(split(text, dash, Behaviour::contiguous) == Words{"a", "--", "b", "-"});
    CHECK(split(text, dash, Behaviour::removed, true) == Words{"-", "-", "-"});
    CHECK(split("", dash, Behaviour::isolated).empty());
}

TEST_CASE("byte level: 256 different characters, and GPT-2's words give the text back", "[text]") {
    std::string bytes, seen;
    for (int byte = 0; byte < 256; ++byte) {
        const std::string one = bytes_as_characters(std::string(1, static_cast<char>(byte)));
        CHECK(seen.find(one) == std::string::npos);
        seen += one;
    }
    CHECK(bytes_as_characters(" a\n") == "\u0120a\u010a");
    CHECK(gpt2_words("I'll go  now\t\u00e9t\u00e9 12.") ==
          Words{"I", "'ll", " go", " ", " now", "\t", "\u00e9t\u00e9", " 12", "."});
    CHECK(gpt2_words("a  ") == Words{"a", "  "});
    CHECK(gpt2_words("a\x0b b\u0085").size() == 4);  // both are white space to \s
}

TEST_CASE("bert: punctuation, Han and control characters", "[text]") {
    CHECK(bert_words("it's $5.\u3002") == Words{"it", "'", "s", "$", "5", ".", "\u3002"});
    CHECK(bert_clean(std::string("a\0\tb\u200b\ufffd\u2028", 13), BertEdition::python) == "a b ");
    CHECK(bert_space_han("a\u4e2db\u304b", BertEdition::python) == "a \u4e2d b\u304b");
    CHECK(bert_space_han("\U0002b830", BertEdition::rust) == "\U0002b830");
    CHECK(bert_clean("\u0378", BertEdition::python).empty());
    CHECK(bert_clean("\u0378", BertEdition::rust) == "\u0378");
    CHECK(bert_strip_accents("\u00e9\u1e69") == "es");
}

TEST_CASE("xlnet: blanks, quotes, accents, and a comma behind a digit", "[text]") {
    XlnetText options;
    CHECK(prepare_xlnet_text("  a \t b``c''\u00c9 ", options) == "a b\"c\"E");
    options.lower_case = true;
    CHECK(prepare_xlnet_text("\U0001d6ba\U0001d6ba", options) == "\u03c3\u03c2");  // a final sigma after NFKD
    options.keep_accents = true;
    CHECK(prepare_xlnet_text("\u00c9", options) == "\u00e9");
    const auto encode = [](const std::string& text) { return Words{"\u2581", text}; };
    CHECK(cut_digit_commas({"a,", "1,", "\u258112,", ","}, encode) == Words{"a,", "1", ",", "\u2581", "12", ",", ","});
}

TEST_CASE("charsmap: a table of one letter", "[text]") {
    // Unit 0 leads to 1 ^ 'A' = 0x40, whose value hangs at 0x40 ^ 1 = 0x41: the replacement at byte 0.
    std::vector<std::uint32_t> trie(0x42);
    trie[0] = 1 << 10;
    trie[0x40] = 'A' | 1 << 8 | 1 << 10;
    trie[0x41] = 0x80000000;
    std::string bytes;
    const auto put = [&](std::uint32_t value) {
        for (int n = 0; n < 4; ++n) bytes += static_cast<char>(value >> (8 * n));
    };
    put(static_cast<std::uint32_t>(4 * trie.size()));
    for (const std::uint32_t unit : trie) put(unit);
    bytes += std::string("aa\0", 3);
    const Charsmap map(bytes, "table");
    CHECK(map.apply("AbA\u00e9") == "aabaa\u00e9");
    CHECK(map.apply("A\u0301") == "aa");  // the rest of the cluster goes with it
    CHECK(decode_base64("QUJD", "x") == "ABC");
    CHECK(decode_base64("QUI=", "x") == "AB");
    CHECK(decode_base64("", "x").empty());
}

}  // namespace locus::test::test_text
