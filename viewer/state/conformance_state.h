#pragma once
// The Conformance page opens on a port that has one mistake and everything else right.
#include <string>

#include "core/tensor.h"

namespace locus {

struct ConformanceState {
    std::string report;         // a file that locus kit check --json wrote; it is read instead of checking anything
    std::string dumps;          // a folder with a port's dumps; empty: those of a port with ...
    int mistake = 1;            // ... this mistake of the catalogue; 0: none
    std::string dialect;        // that the dumps follow: official, hf or paper; empty: each case as it was recorded
    Index checks = 0;           // how often "check again" was asked for
    std::string shown_case;     // its id; empty: the first that fails, or the first of all
    std::string stage;          // of that case; empty: the first wrong one
    bool only_failing = false;  // the map fades what passes
};

}  // namespace locus
