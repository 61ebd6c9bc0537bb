#pragma once
// n neighbours at a time: a little of the order that a bag of words loses.
#include <string>
#include <vector>

#include "core/text/statistics/word_list.h"

namespace locus {

/// Every n words in a row, joined by one space: "not boring".  None if the document is shorter than n.
/// Throws Error(usage) if n < 1.
std::vector<std::string> word_ngrams(const Document& document, Index n);

/// Every n characters in a row, spaces included: "e t".  Characters and spaces as split_characters gives them.
/// Throws Error(usage) if n < 1 or the text is not UTF-8.
std::vector<std::string> character_ngrams(const std::string& text, Index n);

}  // namespace locus
