#pragma once
// The known name that a misspelt one was meant to be.
#include <string>
#include <vector>

namespace locus {

/// The known word with the fewest letters to change; "" of none.
std::string nearest(const std::string& word, const std::vector<std::string>& known);
/// How many characters to insert, delete or replace: Levenshtein's distance.
std::size_t edits(const std::string& a, const std::string& b);

}  // namespace locus
