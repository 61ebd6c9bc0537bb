#include "core/text/corpus/position_grammar.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/check.h"

namespace locus {

// --- words -----------------------------------------------------------------------------------------------------------

const std::vector<WordSlot>& position_words() {
    static const std::vector<WordSlot> lists = {
        {"name", "name", false, {"tom",   "lucy", "ben",  "anna",  "mark", "nora", "paul", "ruth", "sam",  "ella",
                                 "peter", "rose", "jack", "clara", "hugo", "ida",  "leo",  "emma", "otto", "vera"}},
        {"thing",
         "thing",
         false,
         {"letter", "book", "key", "ball", "ring", "coin", "cup", "map", "bag", "pen", "box", "rope", "drum", "kite",
          "hat", "spoon"}},
        {"building",
         "building",
         false,
         {"store", "mall", "cafe", "bank", "hotel", "school", "market", "church", "station", "museum", "library",
          "theatre", "bakery", "garage"}},
        {"room",
         "room",
         false,
         {"kitchen", "garden", "hall", "cellar", "attic", "bedroom", "office", "barn", "yard", "tower"}},
        {"piece",
         "piece",
         false,
         {"table", "chair", "lamp", "bed", "shelf", "clock", "mirror", "sofa", "stove", "desk"}},
        {"colour",
         "colour",
         false,
         {"red", "blue", "green", "yellow", "white", "black", "brown", "grey", "pink", "purple"}},
        {"new", "new", false, {"new", "old", "big", "small", "tall", "clean", "fine", "plain"}},
        {"beside", "beside", false, {"beside", "near", "opposite"}},
        {"animal",
         "animal",
         false,
         {"dog", "cat", "horse", "cow", "hen", "fox", "goat", "duck", "bird", "bear", "pig", "owl"}},
        {"animals",
         "animal",
         false,
         {"dogs", "cats", "horses", "cows", "hens", "foxes", "goats", "ducks", "birds", "bears", "pigs", "owls"}},
        {"hungry", "hungry", false, {"hungry", "tired", "happy", "quiet", "brave", "hurt"}},
        {"runs", "runs", false, {"runs", "sleeps", "waits", "eats", "sings", "hides"}},
        {"run", "runs", false, {"run", "sleep", "wait", "eat", "sing", "hide"}},
        {"slept", "slept", false, {"slept", "ate", "sang", "left", "spoke", "danced", "read", "wept"}},
        {"chased",
         "chased",
         false,
         {"chased", "followed", "helped", "watched", "pushed", "called", "visited", "thanked"}},
        {"taller",
         "taller",
         false,
         {"taller", "shorter", "older", "younger", "faster", "slower", "stronger", "weaker"}},
        {"shorter",
         "taller",
         false,
         {"shorter", "taller", "younger", "older", "slower", "faster", "weaker", "stronger"}},
        {"left", "left", false, {"left", "right"}},
        {"right", "left", false, {"right", "left"}},
        {"above", "above", false, {"above", "below"}},
        {"below", "above", false, {"below", "above"}},
        {"north", "north", false, {"north", "south", "east", "west"}},
        {"south", "north", false, {"south", "north", "west", "east"}},
        {"number",
         "number",
         false,
         {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}},
        {"many", "many", false, {"two", "three", "four", "five", "six", "seven", "eight", "nine"}},
        {"day", "day", true, {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}},
    };
    return lists;
}

// --- patterns --------------------------------------------------------------------------------------------------------
// Every word that is drawn stands at least twice in most patterns, so that a masked word can be told from the others by
// their order; the parts come in changing order, so that counting words is not enough.

const std::vector<std::string>& position_patterns() {
    static const std::vector<std::string> patterns = {
        // Which of the two is the new one?
        "a {new s} {building x} opened {beside r} the {new t} {building y}, so the {building x} is {new s} and the "
        "{building y} is {new t}.",
        "a new {building x} opened {beside r} the new {building y}. people left the {building y} and went to the "
        "{building x}.",
        "the {building x} is {beside r} the {building y}, so the {building y} is {beside r} the {building x}.",
        "the {building x} is {north d} of the {building y}, so the {building y} is {south d} of the {building x}.",
        // Who has what?
        "{name a} gave the {thing g} to {name b}, and {name b} gave the {thing g} to {name c}, so the {thing g} went "
        "from {name a} to {name c}.",
        "{name a} gave the {thing g} to {name b} and the {thing h} to {name c}. {name b} thanked {name a} for the "
        "{thing g}, and {name c} thanked {name a} for the {thing h}.",
        "{name a} gave the {thing g} to {name b} and the {thing h} to {name c}, so [{name b} has the {thing g} and "
        "{name c} has the {thing h}|{name c} has the {thing h} and {name b} has the {thing g}].",
        "{name a} asked {name b} for the {thing g}, and {name b} gave the {thing g} to {name a}.",
        "{name a} has the {thing g} and {name b} has the {thing h}. they swap, so {name a} has the {thing h} and "
        "{name b} has the {thing g}.",
        "{name a} took the {thing g} from {name b}, so {name a} has the {thing g} and {name b} lost the {thing g}.",
        // Who is where?
        "{name a} carried the {thing g} to the {room r}, and {name b} carried the {thing h} to the {room s}, so [the "
        "{thing g} is in the {room r} with {name a} and the {thing h} is in the {room s} with {name b}|the {thing h} "
        "is in the {room s} with {name b} and the {thing g} is in the {room r} with {name a}].",
        "{name a} walked to the {room r} and {name b} walked to the {room s}, so [{name a} is in the {room r} and "
        "{name b} is in the {room s}|{name b} is in the {room s} and {name a} is in the {room r}].",
        "{name a} went from the {room r} to the {room s} and then to the {room t}, so {name a} began in the {room r} "
        "and ended in the {room t}.",
        "{name a} told {name b} that {name c} was in the {room r}, so {name b} went to the {room r} and found "
        "{name c}.",
        "the {colour x} {thing g} is in the {room r} and the {colour y} {thing h} is in the {room s}, so in the "
        "[{room r} there is a {colour x} {thing g}|{room s} there is a {colour y} {thing h}].",
        // Which is on which side?
        "the {piece x} is to the {left d} of the {piece y}, so the {piece y} is to the {right d} of the {piece x}.",
        "the {piece x} is {above d} the {piece y}, so the {piece y} is {below d} the {piece x}.",
        "the {piece x} is {left d} of the {piece y} and the {piece y} is {left d} of the {piece z}, so the {piece x} "
        "is {left d} of the {piece z}.",
        "the {piece x} is {above d} the {piece y} and the {piece y} is {above d} the {piece z}, so the {piece z} is "
        "{below d} the {piece x}.",
        "{name b} sat between {name a} and {name c}, so {name a} sat on one side of {name b} and {name c} on the "
        "other.",
        // In which order?
        "{name a}, {name b} and {name c} stood in a row. [the first was {name a}, the second was {name b} and the "
        "last was {name c}|{name b} stood between {name a} and {name c}|the last was {name c} and the first was "
        "{name a}].",
        "{name a} came before {name b} and {name b} came before {name c}, so {name a} was first and {name c} was last.",
        "{name a} came after {name b} and {name b} came after {name c}, so {name c} was first and {name a} was last.",
        "{name a} {slept v} before {name b} {slept w}, so {name b} {slept w} after {name a} {slept v}.",
        "{name a} came on {day d} and {name b} came on {day d+1}, so {name a} came the day before {name b}.",
        "{name a} left on {day d}, and the day [after was {day d+1}|before was {day d-1}], so {name a} was gone on "
        "{day d}.",
        "{name a} counts up: {number n}, {number n+1}, {number n+2}, {number n+3}. {name b} counts down: {number m}, "
        "{number m-1}, {number m-2}, {number m-3}.",
        "{name a} counts in twos from {number n}: {number n}, {number n+2}, {number n+4}, {number n+6}.",
        "read {colour x} {colour y} {colour z} from the end and it is {colour z} {colour y} {colour x}.",
        "read {thing x} {thing y} {thing z} from the end and it is {thing z} {thing y} {thing x}.",
        // What belongs to what?
        "the {colour x} {thing g} and the {colour y} {thing h} are here, so [the {thing g} is {colour x} and the "
        "{thing h} is {colour y}|the {thing h} is {colour y} and the {thing g} is {colour x}].",
        "the {thing g} of {name a} is {colour x} and the {thing g} of {name b} is {colour y}, so {name a} owns the "
        "{colour x} {thing g} and {name b} owns the {colour y} {thing g}.",
        "{name a} wears {colour x} and {name b} wears {colour y}, so the one in {colour y} is {name b} and the one in "
        "{colour x} is {name a}.",
        "{many n} {animals x} met {many m} {animals y}, so there were {many n} {animals x} and {many m} {animals y}.",
        // Which noun does the verb follow?
        "the {animal x} near the {animals y} is {hungry m}, but the {animals y} near the {animal x} are not "
        "{hungry m}.",
        "the {animals x} near the {animal y} are {hungry m}, but the {animal y} near the {animals x} is not "
        "{hungry m}.",
        "the {animal x} behind the {animals y} {runs v} and the {animals y} before the {animal x} {run w}, so the "
        "{animal x} {runs v}.",
        "the {animals x} behind the {animal y} {run v} and the {animal y} before the {animals x} {runs w}, so the "
        "{animals x} {run v}.",
        // Who did it to whom?
        "the {animal x} {chased v} the {animal y}, so the {animal y} was {chased v} by the {animal x}.",
        "the {animal x} was {chased v} by the {animal y}, so the {animal y} {chased v} the {animal x}.",
        "{name a} {chased v} {name b} and {name b} {chased w} {name c}, so {name c} was {chased w} by {name b} and "
        "{name b} was {chased v} by {name a}.",
        "{name a} is {taller t} than {name b}, so {name b} is {shorter t} than {name a}.",
        "{name a} is {taller t} than {name b} and {name b} is {taller t} than {name c}, so {name c} is {shorter t} "
        "than {name a}.",
        "the {animal x} is {taller t} than the {animal y} and the {animal y} is {taller t} than the {animal z}, so "
        "the {animal x} is {taller t} than the {animal z}.",
    };
    return patterns;
}

// --- sentences -------------------------------------------------------------------------------------------------------

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

/// The slot that begins at `at`, a "{"; moves `at` after its "}".
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
