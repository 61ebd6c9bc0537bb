#pragma once
// What a mistake of the catalogue does to a pass, as plain data: no model and no formula is needed to read it.
#include <string>
#include <vector>

#include "core/tensor.h"

namespace locus::conformance {

/// What became of one stage where a mistake was made.
struct ChangedStage {
    std::string name;
    Index wrong = 0, size = 0;  // values farther from the right ones than rounding explains, of all
};

enum class Effect { changes, nothing, impossible };

/// One way to make a mistake, and what it does.
struct WayEffect {
    std::string how;
    Effect effect = Effect::nothing;
    ChangedStage first = {};  // where it begins
    std::string needs = {};   // what is lacking where it cannot be made
};

struct MistakeEffect {
    int number = 0;
    std::string name;
    std::vector<WayEffect> ways;

    /// Index of the way to begin with: the first that changes something, else the first that can be made, else 0.
    std::size_t best_way() const;
    /// Of that way; impossible where there is none.
    Effect effect() const;
};

}  // namespace locus::conformance
