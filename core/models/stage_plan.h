#pragma once
// Which stages a pass can leave, which were asked for, and how far it has to run for them.
#include <string>
#include <vector>

#include "core/trace.h"

namespace locus {

/// Throws Error(usage) naming the first pattern that matches none of the names.
void check_wanted(const StageFilter& wanted, const std::vector<std::string>& names);

/// "" for a single segment, "segment.1." for the second of several.
std::string segment_prefix(std::size_t segment, std::size_t count);

/// How many layers the wanted stages of this segment need; all of them for a head or a memory.
/// names: every stage the pass can leave, with the prefix.
Index layers_to_run(const std::vector<std::string>& names, const std::string& prefix, const StageFilter& wanted,
                    Index layers);

}  // namespace locus
