#pragma once
// The pages' own keys, which the pages read themselves; here they have names.
#include <vector>

#include "viewer/state/actions.h"

namespace locus {

/// Appends them, page by page in the order of the rail.
void add_page_actions(std::vector<NamedAction>& all);

}  // namespace locus
