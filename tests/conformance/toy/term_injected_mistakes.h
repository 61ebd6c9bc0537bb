#pragma once
// Mistakes that no whole model shows, made in single terms: which case shows them, and what became of them.
#include "tests/conformance/toy/mutation.h"
#include "tests/conformance/toy/term_ports.h"

namespace locus::conformance::toy {

struct InjectedTermMistake {
    Injection injected;
    std::vector<std::string> cases;  // of the kit
    std::string what;                // one clause
    std::vector<std::string> first;  // how the names of the stages end that may go wrong first
    bool faint = false;              // below the rounding of float32, where it shows late or never
    bool ends_right = false;         // the last stage of a case may be right: keys where queries are wrong
};
const std::vector<InjectedTermMistake>& injected_term_mistakes();
/// Every case of the kit that these ports compute.
const std::vector<std::string>& term_case_ids();

/// The mistake in every case, float and double; full dumps, and dumps of the last stage alone.
std::vector<Finding> try_term_mistake(const Kit& kit, const InjectedTermMistake& known);

}  // namespace locus::conformance::toy
