#pragma once
// Models that were opened before, the newest first; who keeps the settings fills it.
#include <string>
#include <vector>

namespace locus {

struct Recent {
    std::vector<std::string> models;  // folders, or names of built-in ones
};

}  // namespace locus
