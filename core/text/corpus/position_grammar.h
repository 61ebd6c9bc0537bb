#pragma once
// Sentences whose words can be told from where the others stand, and not from which others there are: who carried what
// where, which is left of which, what the first noun's number asks of the verb after the second.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace locus {

/// The patterns the sentences are made of.  "{name a}" is a word of the list `name`, the same one wherever a stands,
/// and another one than that of any other letter of that list; "{day d+1}" is the word after it in the list.  Lists
/// that run parallel share a letter: "{animal x}" and "{animals x}".  "[one|two]" is one of the choices.
const std::vector<std::string>& position_patterns();

/// `count` different sentences, lower case, one pattern each; the same for the same seed on every machine.
/// Throws Error(usage) if the patterns cannot make so many.
std::vector<std::string> position_sentences(std::uint64_t seed, std::size_t count);

/// What assets/corpus holds: sentences to learn from, and others to judge by, none of which is among the former.
struct PositionCorpus {
    std::vector<std::string> corpus, heldout;
};
PositionCorpus position_corpus();

/// Words that stand in each other's place.  Lists of one group run parallel: word n of one belongs to word n of
/// another.
struct WordSlot {
    std::string name, group;
    bool cyclic = false;  // the first word comes after the last
    std::vector<std::string> words;
};

/// All lists, in a fixed order.
const std::vector<WordSlot>& position_words();

}  // namespace locus
