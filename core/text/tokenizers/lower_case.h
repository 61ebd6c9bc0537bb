#pragma once
// Lower case as Python's str.lower does it to single characters.
#include <string>

namespace locus {

/// Each character by itself, so that a sigma at the end of a word stays a sigma; one may become two (U+0130).
/// Throws Error(usage) if the text is not UTF-8.
std::string lower_case_by_character(const std::string& text);

}  // namespace locus
