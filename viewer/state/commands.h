#pragma once
// What the palette offers for what was typed: actions, and what is made of the sentence, the model and the past.
#include <functional>
#include <string>
#include <vector>

#include "viewer/state/actions.h"

namespace locus {

/// What the palette can speak of.
struct CommandScope {
    Index layers = 1, heads = 1;
    std::vector<std::string> labels;  // of the tokens; empty before there is an answer
    std::vector<std::string> stages;  // that a comparison can show
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
