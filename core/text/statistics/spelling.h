#pragma once
// A misspelt word by its character n-grams: those that no known word has, and the known words that share most.
#include <string>
#include <vector>

#include "core/text/statistics/word_list.h"

namespace locus {

struct Suggestion {
    std::string word;
    double similarity = 0;  // Dice: 2 * shared / (n-grams of both), in [0, 1]
    Index count = 0;        // how often the word was met
};

/// Shared n-grams of two words, each counted as often as both have it: 2 * shared / (n-grams of a + of b).  1 for
/// equal words, 0 if nothing is shared.  A word shorter than n is one gram by itself.
/// Throws Error(usage) if n < 1 or a word is not UTF-8.
double ngram_similarity(const std::string& a, const std::string& b, Index n = 2);

/// n-grams of the word that no known word has: where it is likely to be wrong.
std::vector<std::string> unknown_ngrams(const std::string& word, const std::vector<Counted>& known, Index n = 2);

/// Known words that share an n-gram, the most similar first, then the most frequent, then in their order.
std::vector<Suggestion> suggest_words(const std::string& word, const std::vector<Counted>& known, Index n = 2);

}  // namespace locus
