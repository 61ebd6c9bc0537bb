#include "core/models/stage_plan.h"

#include <algorithm>

namespace locus {

void check_wanted(const StageFilter& wanted, const std::vector<std::string>& names) {
    const std::vector<std::string> unknown = wanted.unmatched(names);
    LOCUS_CHECK(unknown.empty(), "stages: \"" + unknown.front() +
                                     "\" matches no stage of this model and input, expected names like " +
                                     names.front() + " or " + names.back());
}

std::string segment_prefix(std::size_t segment, std::size_t count) {
    return count == 1 ? "" : "segment." + std::to_string(segment) + ".";
}

Index layers_to_run(const std::vector<std::string>& names, const std::string& prefix, const StageFilter& wanted,
                    Index layers) {
    Index needed = 0;
    for (const std::string& name : names) {
        if (!name.starts_with(prefix) || !wanted.keeps(name)) continue;
        const std::string stem = name.substr(prefix.size());
        if (stem.starts_with("layer."))
            needed = std::max<Index>(needed, std::stol(stem.substr(6)) + 1);
        else if (stem.starts_with("lm.") || stem.starts_with("mlm.") || stem.starts_with("memory."))
            return layers;
    }
    return needed;
}

}  // namespace locus
