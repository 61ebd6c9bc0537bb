#pragma once
// Models that were opened and commands that were used before, the newest first; who keeps the settings fills it.
#include <string>
#include <vector>

namespace locus {

struct Recent {
    std::vector<std::string> models;    // folders, or names of built-in ones
    std::vector<std::string> commands;  // of the palette, by their ids
};

}  // namespace locus
