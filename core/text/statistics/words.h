#pragma once
// Words: where they end in a text, their numbers and counts, the common ones, and misspelt ones.
// Boundaries are those of Unicode Standard Annex 29 as ICU implements it.
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/tensor.h"
#include "core/text/tokenizers/unicode.h"

namespace locus {

/// The words of one text, in order.
using Document = std::vector<std::string>;

/// Distinct words in the order in which they were first met; the number of a word is its column or row elsewhere.
class WordList {
public:
    /// Number of the word, a new one if it was not met before.
    Index add(const std::string& word);
    /// Nothing for a word that was never added.
    std::optional<Index> find(const std::string& word) const;
    const std::string& word(Index number) const { return words_.at(static_cast<std::size_t>(number)); }
    const std::vector<std::string>& words() const { return words_; }
    Index size() const { return static_cast<Index>(words_.size()); }

private:
    std::vector<std::string> words_;
    std::unordered_map<std::string, Index> numbers_;
};

/// A word, an n-gram, or anything else that is counted by its spelling.
struct Counted {
    std::string text;
    Index count = 0;
    bool operator==(const Counted&) const = default;
};

/// How often each text occurs, in the order of first occurrence.
std::vector<Counted> count_each(const std::vector<std::string>& texts);

/// The most frequent first; equal counts stay in their order.
void sort_by_count(std::vector<Counted>& counted);

// --- from a text to words
// ---------------------------------------------------------------------------------------------

/// One spelling for what a reader takes for the same: composed characters (NFC), and lower case unless `keep_case`.
/// The text must be UTF-8; throws Error(usage) if it is not.
std::string normalise_text(const std::string& text, bool keep_case = false);

/// Words of a UTF-8 text: letters and digits by the rules of Unicode ("don't" and "3.14" are one word), Chinese,
/// Japanese and Thai by ICU's dictionaries.  Punctuation, symbols and space are dropped.
/// Throws Error(usage) if the text is not UTF-8 or longer than 2^31 - 1 bytes.
Document split_words(const std::string& text);

/// What a reader calls characters (grapheme clusters); white space of any kind and length is one " ", and none at the
/// ends.  Throws as split_words.
std::vector<std::string> split_characters(const std::string& text);

// --- words so common that they say nothing about a document ----------------------------------------------------------

/// English articles, pronouns, prepositions, conjunctions and auxiliary verbs, in lower case.
const std::unordered_set<std::string>& english_stop_words();

/// The document without them, in its order.
Document without_words(const Document& document, const std::unordered_set<std::string>& unwanted);

// --- spelling --------------------------------------------------------------------------------------------------------
// A misspelt word by its character n-grams: those that no known word has, and the known words that share most.

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
