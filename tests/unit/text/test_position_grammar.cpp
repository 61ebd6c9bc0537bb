// The corpus whose words are told by their places.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <sstream>

#include "core/text/corpus/position_grammar.h"
#include "tests/files.h"

namespace locus::test::test_position_grammar {

namespace {

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

std::vector<std::string> words_of(std::string sentence) {
    for (char& character : sentence)
        if (character == ',' || character == '.' || character == ':') character = ' ';
    std::istringstream stream(sentence);
    return {std::istream_iterator<std::string>(stream), {}};
}

const PositionCorpus& the_corpus() {
    static const PositionCorpus corpus = position_corpus();
    return corpus;
}

}  // namespace

TEST_CASE("position grammar: the corpus in assets is what the grammar makes, byte for byte", "[corpus]") {
    const fs::path folder = fs::path(LOCUS_SOURCE_DIR) / "assets/corpus";
    CHECK((read_bytes(folder / "positions.txt") == joined(the_corpus().corpus)));
    CHECK((read_bytes(folder / "heldout.txt") == joined(the_corpus().heldout)));
    CHECK(fs::file_size(folder / "positions.txt") + fs::file_size(folder / "heldout.txt") < 1'000'000);
    const std::string readme = read_bytes(folder / "README.md");
    std::set<std::string> words;
    for (const std::string& sentence : the_corpus().corpus)
        for (const std::string& word : words_of(sentence)) words.insert(word);
    CHECK(readme.find(std::to_string(words.size()) + " words") != std::string::npos);
    CHECK(words.size() >= 150);
    CHECK(words.size() <= 400);
}

TEST_CASE("position grammar: sentences are lower case, different, and held out ones are not in the corpus",
          "[corpus]") {
    std::set<std::string> seen;
    for (const auto* part : {&the_corpus().corpus, &the_corpus().heldout})
        for (const std::string& sentence : *part) {
            if (!seen.insert(sentence).second) FAIL("twice: " << sentence);
            if (sentence.find_first_not_of("abcdefghijklmnopqrstuvwxyz ,.:") != std::string::npos ||
                sentence.find("  ") != std::string::npos || !sentence.ends_with('.'))
                FAIL(sentence);
        }
    CHECK(position_sentences(1, 50) == position_sentences(1, 50));
    CHECK(position_sentences(1, 50) != position_sentences(3, 50));
}

TEST_CASE("position grammar: every word of a list and every pattern comes up", "[corpus]") {
    std::set<std::string> words;
    for (const std::string& sentence : the_corpus().corpus)
        for (const std::string& word : words_of(sentence)) words.insert(word);
    for (const WordSlot& list : position_words())
        for (const std::string& word : list.words) {
            INFO(word);
            CHECK(words.contains(word));
        }
    for (const std::string& pattern : position_patterns())
        for (std::size_t at = pattern.find('{'); at != std::string::npos; at = pattern.find('{', at + 1)) {
            const std::string name = pattern.substr(at + 1, pattern.find(' ', at) - at - 1);
            INFO(pattern << ": " << name);
            CHECK(std::any_of(position_words().begin(), position_words().end(),
                              [&](const WordSlot& list) { return list.name == name; }));
        }
    for (const WordSlot& list : position_words()) {
        const auto group = std::find_if(position_words().begin(), position_words().end(),
                                        [&](const WordSlot& other) { return other.name == list.group; });
        REQUIRE(group != position_words().end());
        CHECK(group->words.size() == list.words.size());
    }
}

TEST_CASE("position grammar: the verb agrees with the noun it belongs to, not with the nearest", "[corpus]") {
    int singular = 0, plural = 0;
    for (const std::string& sentence : the_corpus().corpus) {
        const std::vector<std::string> words = words_of(sentence);
        if (words.size() < 7 || words[2] != "near" || (words[5] != "is" && words[5] != "are")) continue;
        INFO(sentence);
        const bool several = words[1].ends_with('s');
        (several ? plural : singular) += 1;
        CHECK(words[5] == (several ? "are" : "is"));
        CHECK(words[4].ends_with('s') != several);
    }
    CHECK(singular > 100);
    CHECK(plural > 100);
}

TEST_CASE("position grammar: shuffled words are as well those of the sentence that says the opposite", "[corpus]") {
    std::map<std::string, std::set<std::string>> passives;  // by the words in alphabetical order
    for (const std::string& sentence : position_sentences(5, 80000)) {
        std::vector<std::string> words = words_of(sentence);
        if (words.size() != 13 || words[0] != "the" || words[6] != "the" || words[8] != "was") continue;
        CHECK(words[1] == words[12]);  // who chased, chased
        CHECK(words[4] == words[7]);
        std::sort(words.begin(), words.end());
        passives[joined(words)].insert(sentence);
    }
    REQUIRE(passives.size() > 100);
    const auto both =
        std::count_if(passives.begin(), passives.end(), [](const auto& one) { return one.second.size() == 2; });
    CHECK(static_cast<std::size_t>(both) * 2 > passives.size());
}

}  // namespace locus::test::test_position_grammar
