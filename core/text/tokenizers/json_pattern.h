#pragma once
// A pattern of tokenizer.json: {"pattern": {"String": " "}} or {"pattern": {"Regex": "\\s+"}}.
#include "core/text/tokenizers/json_fields.h"
#include "core/text/tokenizers/split.h"

namespace locus {

/// Reads the field "pattern".  Throws Error(unreadable) if it is neither of the two, or ICU cannot read it.
Pattern read_pattern(const JsonFields& json);

}  // namespace locus
