#pragma once
// Words so common that they say nothing about a document.
#include <string>
#include <unordered_set>

#include "core/text/statistics/word_list.h"

namespace locus {

/// English articles, pronouns, prepositions, conjunctions and auxiliary verbs, in lower case.
const std::unordered_set<std::string>& english_stop_words();

/// The document without them, in its order.
Document without_words(const Document& document, const std::unordered_set<std::string>& unwanted);

}  // namespace locus
