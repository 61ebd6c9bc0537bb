#include "core/text/corpus/position_grammar.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/check.h"
#include "core/text/corpus/position_words.h"

namespace locus {

namespace {

constexpr std::uint64_t kCorpusSeed = 1, kHeldoutSeed = 2;
constexpr std::size_t kCorpusSentences = 10000, kHeldoutSentences = 500;

class Draw {
public:
    explicit Draw(std::uint64_t seed) : engine_(seed) {}
    /// 0 ... limit - 1.  The library's distributions differ between libraries; the remainder does not.
    int below(int limit) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(limit)); }

private:
    std::mt19937_64 engine_;
};

/// "{day d+1}"
struct Slot {
    const WordSlot* list;
    char letter;
    int offset;
};

/// The slot that begins at `at`, a "{"; moves `at` behind its "}".
Slot read_slot(const std::string& text, std::size_t& at) {
    const std::size_t blank = text.find(' ', at), end = text.find('}', at);
    const std::string name = text.substr(at + 1, blank - at - 1), place = text.substr(blank + 1, end - blank - 1);
    at = end + 1;
    for (const WordSlot& list : position_words())
        if (list.name == name) return {&list, place[0], place.size() > 1 ? std::stoi(place.substr(1)) : 0};
    throw Error(Fault::usage, "grammar: there is no list of words called " + name);
}

/// The text with each "[one|two]" replaced by one of its choices.
std::string choose(const std::string& pattern, Draw& draw) {
    std::string text;
    for (std::size_t at = 0; at < pattern.size();) {
        if (pattern[at] != '[') {
            text += pattern[at++];
            continue;
        }
        const std::size_t end = pattern.find(']', at);
        std::vector<std::string> choices(1);
        for (const char character : pattern.substr(at + 1, end - at - 1))
            if (character == '|')
                choices.emplace_back();
            else
                choices.back() += character;
        text += choices[static_cast<std::size_t>(draw.below(static_cast<int>(choices.size())))];
        at = end + 1;
    }
    return text;
}

/// Which word a letter stands for, and the offsets it is asked at.
struct Letter {
    const WordSlot* list = nullptr;
    int lowest = 0, highest = 0, word = 0;
};

std::map<char, Letter> letters_of(const std::string& text, std::vector<char>& order) {
    std::map<char, Letter> letters;
    for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at)) {
        const Slot slot = read_slot(text, at);
        Letter& letter = letters[slot.letter];
        if (!letter.list) order.push_back(slot.letter);
        if (!letter.list) letter.list = slot.list;
        letter.lowest = std::min(letter.lowest, slot.offset);
        letter.highest = std::max(letter.highest, slot.offset);
    }
    return letters;
}

/// Draws the words, other ones for other letters of a group.
std::map<char, Letter> draw_words(const std::string& text, Draw& draw) {
    std::vector<char> order;
    std::map<char, Letter> letters = letters_of(text, order);
    std::map<std::string, std::set<int>> taken;
    for (const char name : order) {
        Letter& letter = letters[name];
        const int count = static_cast<int>(letter.list->words.size());
        const int first = letter.list->cyclic ? 0 : -letter.lowest;
        const int last = letter.list->cyclic ? count : count - letter.highest;
        do letter.word = first + draw.below(last - first);
        while (!taken[letter.list->group].insert(letter.word).second);
    }
    return letters;
}

std::string draw_sentence(Draw& draw) {
    const auto& patterns = position_patterns();
    const std::string text =
        choose(patterns[static_cast<std::size_t>(draw.below(static_cast<int>(patterns.size())))], draw);
    const std::map<char, Letter> letters = draw_words(text, draw);
    std::string sentence;
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] != '{') {
            sentence += text[at++];
            continue;
        }
        const Slot slot = read_slot(text, at);
        const std::size_t count = slot.list->words.size();
        sentence +=
            slot.list->words[(static_cast<std::size_t>(letters.at(slot.letter).word + slot.offset) + count) % count];
    }
    return sentence;
}

/// Different sentences that are not among `seen`; they are put there.
std::vector<std::string> draw_new(std::uint64_t seed, std::size_t count, std::set<std::string>& seen) {
    constexpr std::size_t kPatience = 1000;  // repeats per sentence before giving up
    Draw draw(seed);
    std::vector<std::string> sentences;
    for (std::size_t tries = 0; sentences.size() < count; ++tries) {
        LOCUS_CHECK(tries < kPatience * (count + 1),
                    "grammar: " + std::to_string(count) + " sentences were asked for, more than the patterns can make");
        const std::string sentence = draw_sentence(draw);
        if (seen.insert(sentence).second) sentences.push_back(sentence);
    }
    return sentences;
}

}  // namespace

std::vector<std::string> position_sentences(std::uint64_t seed, std::size_t count) {
    std::set<std::string> seen;
    return draw_new(seed, count, seen);
}

PositionCorpus position_corpus() {
    std::set<std::string> seen;
    PositionCorpus corpus;
    corpus.corpus = draw_new(kCorpusSeed, kCorpusSentences, seen);
    corpus.heldout = draw_new(kHeldoutSeed, kHeldoutSentences, seen);
    return corpus;
}

}  // namespace locus
