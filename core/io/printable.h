#pragma once
// Text that came out of a file, made fit for a sentence.
#include <string>

namespace locus {

/// Control characters become '?', and what is longer than 300 bytes ends in "...": a damaged file may hold anything
/// where a name should be, and a message must stay one line that a terminal can show.
std::string printable(std::string text);

}  // namespace locus
