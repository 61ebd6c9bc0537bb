#pragma once
// What a pass was given, as the metadata of its trace keeps it under "inputs".
#include <string>
#include <vector>

#include "core/models/model.h"

namespace locus {

/// One object per segment, nested lists under the names of an input file:
/// [{"tokens":[[1,6,2]],"mask":[[1,1,0]]}].  Empty where the pass was given memories, which are no whole numbers, and
/// where it is longer than a header should hold (a million numbers).
std::string inputs_as_json(const std::vector<ModelInput>& segments);

/// The same read back; one object alone is one segment, and a list of lists the tokens of one.
/// Throws Error(unreadable): "<place>: ..." for anything else.
std::vector<ModelInput> inputs_from_json(const std::string& text, const std::string& place);

}  // namespace locus
