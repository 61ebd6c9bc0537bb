#pragma once
// Every mistake that the toy ports can make, and those that no trace shows.
#include <string>
#include <vector>

#include "tests/conformance/toy/toy_port.h"

namespace locus::conformance::toy {

struct InjectedMistake {
    Injection injected;
    std::vector<Family> families;
    std::string what;                // one clause
    std::vector<std::string> first;  // how the names of the stages end that may go wrong first
    std::string no_name;             // why it cannot be named; empty if a catalogue should
    bool faint = false;              // below the rounding of float32: any stage may be the first in such a dump
};
const std::vector<InjectedMistake>& injected_mistakes();
/// Those of replaced-token detection and SiFT, made by toy_rtd and toy_sift.
const std::vector<InjectedMistake>& injected_training_mistakes();
/// Those that backward passes make; toy_attention.h makes them.
const std::vector<InjectedMistake>& injected_gradient_mistakes();

/// Another number that makes the very same values where both can be made.
struct Equivalent {
    int made, named;
    std::string why;
};
const std::vector<Equivalent>& equivalents();

}  // namespace locus::conformance::toy
