#pragma once
// What the palette offers for the letters that were typed: how well a name matches them, and the commands themselves
// (actions, and what is made of the sentence, the model and the past).
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/state/actions.h"

namespace locus {

/// Nothing unless every letter of `typed` occurs in `name` in this order (blanks of `typed` may be left out, case does
/// not count); else a score: the larger, the better.  Letters that begin words, follow one another or begin the name
/// count more, letters left over in the name count a little less.  The best of all ways to place the letters counts.
std::optional<int> fuzzy_score(std::string_view name, std::string_view typed);

/// Places of the names that match, the best first, equals in their order; of two that match equally well one among
/// `first` comes first.  Where nothing is typed: those, then all others in their order.
std::vector<std::size_t> fuzzy_order(const std::vector<std::string>& names, std::string_view typed,
                                     const std::vector<std::size_t>& first = {});

/// What the palette can speak of.
struct CommandScope {
    Index layers = 1, heads = 1;
    std::vector<std::string> labels;  // of the tokens; empty before there is an answer
    std::vector<std::string> stages;  // that a comparison can show
    bool reads_text = true;           // the opened model has a tokenizer
};

struct Command {
    std::string id, title, key;
    const NamedAction* action = nullptr;  // or ...
    std::function<void(State&)> change;   // ... this
};

/// Every command that answers to the letters, the best first; where nothing is typed the last used ones, then the
/// actions.  "layer 7 head 3" and "go 3,17" are commands once they are typed and exist.
std::vector<Command> find_commands(const State& state, const CommandScope& scope, const std::string& typed);

}  // namespace locus
