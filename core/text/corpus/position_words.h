#pragma once
// The words of the grammar of positions; not for other files than position_grammar.cpp.
#include <string>
#include <vector>

namespace locus {

/// Words that stand in each other's place.  Lists of one group run parallel: word n of one belongs to word n of
/// another.
struct WordSlot {
    std::string name, group;
    bool cyclic = false;  // the first word comes behind the last
    std::vector<std::string> words;
};

/// All lists, in a fixed order.
const std::vector<WordSlot>& position_words();

}  // namespace locus
