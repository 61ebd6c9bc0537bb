#pragma once
// One mistake of the catalogue: what people do, how it shows, and the formula it makes.
#include <string>
#include <vector>

#include "core/conformance/diagnosis/evidence.h"

namespace locus::conformance {

/// One way to make the mistake, e.g. "centre at k - 1" and "centre at k + 1".
struct Variant {
    std::string how;                // one clause; empty if there is only one way
    std::vector<Formula> formulas;  // what it puts in place of the right ones
};

struct Mistake {
    int number = 0;        // of the catalogue, 1 ... 83
    std::string name;      // "p2c reads delta(j,i), as the paper prints it"
    std::string symptom;   // what the porter sees
    std::string betrays;   // the number that tells it from others
    std::string evidence;  // a public issue or pull request, or the source that prints it; empty if none is known
    std::string lesson;    // "09"
    std::vector<Family> families;
    std::vector<std::string> stems;  // stages it makes wrong first
    std::vector<Variant> variants;
};

/// All of them, in the order of their numbers.
const std::vector<Mistake>& catalogue();
/// Throws Error(usage) naming the numbers there are.
const Mistake& mistake_of(int number);

}  // namespace locus::conformance
