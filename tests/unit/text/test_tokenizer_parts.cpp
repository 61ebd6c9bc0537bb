// The small steps of tokenizing, by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/text/tokenizers/byte_pair_encoding.h"
#include "core/text/tokenizers/charsmap.h"
#include "core/text/tokenizers/pre_tokenizers.h"
#include "core/text/tokenizers/sentencepiece.h"
#include "core/text/tokenizers/unicode.h"
#include "core/text/tokenizers/unigram_model.h"
#include "tests/files.h"

namespace locus::test::test_tokenizer_parts {

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

TEST_CASE("xlnet: blanks, quotes, accents, and a comma after a digit", "[text]") {
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

// Byte-pair merging against loops that anyone can check.

using Ids = std::vector<std::int64_t>;

namespace {

struct Rule {
    std::int64_t left, right, merged;
};

struct Rules {
    std::vector<Rule> list;
    PairMerges merges;
    void add(const Rule& rule) {
        if (merges.add(rule.left, rule.right, rule.merged)) list.push_back(rule);
    }
};

std::int64_t below(std::mt19937& generator, std::int64_t limit) {
    return static_cast<std::int64_t>(generator()) % limit;
}

bool matches(const Ids& word, std::size_t at, const Rule& rule) {
    return at + 1 < word.size() && word[at] == rule.left && word[at + 1] == rule.right;
}

/// The first rule of the list that fits anywhere in the word.
const Rule* best_rule(const Ids& word, const std::vector<Rule>& rules) {
    for (const Rule& rule : rules)
        for (std::size_t at = 0; at < word.size(); ++at)
            if (matches(word, at, rule)) return &rule;
    return nullptr;
}

/// encoder.py of GPT-2: every place of the best pair, from the left, then look again.
Ids merge_in_rounds(Ids word, const std::vector<Rule>& rules) {
    while (const Rule* rule = best_rule(word, rules)) {
        Ids next;
        for (std::size_t at = 0; at < word.size(); ++at)
            if (matches(word, at, *rule)) {
                next.push_back(rule->merged);
                ++at;
            } else {
                next.push_back(word[at]);
            }
        word = next;
    }
    return word;
}

/// word.rs of tokenizers: one place of the best pair, the leftmost, then look again.
Ids merge_one_by_one(Ids word, const std::vector<Rule>& rules) {
    while (const Rule* rule = best_rule(word, rules))
        for (std::size_t at = 0; at < word.size(); ++at)
            if (matches(word, at, *rule)) {
                word[at] = rule->merged;
                word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
                break;
            }
    return word;
}

/// As training makes them: every rule merges letters or pieces that an earlier rule has made.
Rules trained_rules(std::mt19937& generator) {
    Rules rules;
    std::int64_t next = 4;
    for (int n = 0; n < 24; ++n) {
        const std::int64_t left = below(generator, next), right = below(generator, next);
        rules.add({left, right, next});
        next = static_cast<std::int64_t>(4 + rules.list.size());
    }
    return rules;
}

/// In any order: a rule may come before the one that makes its parts.
Rules shuffled_rules(std::mt19937& generator) {
    Rules ordered = trained_rules(generator), rules;
    std::shuffle(ordered.list.begin(), ordered.list.end(), generator);
    for (const Rule& rule : ordered.list) rules.add(rule);
    return rules;
}

Ids random_word(std::mt19937& generator) {
    Ids word(generator() % 40);
    for (auto& letter : word) letter = below(generator, 4);
    return word;
}

}  // namespace

TEST_CASE("merges: the queue merges as the loop of GPT-2 does", "[tokenizer][bpe][law]") {
    std::mt19937 generator(1);
    int orders_differ = 0;
    for (int round = 0; round < 4000; ++round) {
        const Rules rules = round % 2 ? trained_rules(generator) : shuffled_rules(generator);
        const Ids word = random_word(generator);
        INFO("round " << round);
        const Ids rounds = rules.merges.merge(word, MergeOrder::rounds);
        const Ids single = rules.merges.merge(word, MergeOrder::one_by_one);
        CHECK(rounds == merge_in_rounds(word, rules.list));
        CHECK(single == merge_one_by_one(word, rules.list));
        if (round % 2) CHECK(rounds == single);
        orders_differ += rounds != single;
    }
    CHECK(orders_differ > 10);  // so the two orders are really two
}

TEST_CASE("merges: equal letters merge from the left", "[tokenizer][bpe]") {
    PairMerges merges;
    CHECK(merges.add(0, 0, 1));
    CHECK(merges.add(1, 0, 2));
    CHECK_FALSE(merges.add(0, 0, 3));
    CHECK(merges.size() == 2);
    CHECK(merges.merge({}, MergeOrder::rounds).empty());
    CHECK(merges.merge({0, 0, 0, 0}, MergeOrder::rounds) == Ids{1, 1});
    CHECK(merges.merge({0, 0, 0}, MergeOrder::one_by_one) == Ids{2});
    CHECK(merges.merge({7, 0, 0, 7}, MergeOrder::rounds) == Ids{7, 1, 7});
}

TEST_CASE("merges: one word of a million letters takes a moment, not a day", "[tokenizer][bpe]") {
    PairMerges merges;
    for (std::int64_t n = 0; n < 16; ++n) merges.add(n, n, n + 1);
    CHECK(merges.merge(Ids(1 << 20, 0), MergeOrder::rounds) == Ids(1 << 4, 16));
}

// The unigram model against every way there is to cut a word.

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

}  // namespace locus::test::test_tokenizer_parts
