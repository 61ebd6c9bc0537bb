#pragma once
// n neighbours at a time: a little of the order that a bag of words loses, and a language model made of their counts.
#include <string>
#include <unordered_map>
#include <vector>

#include "core/text/statistics/words.h"

namespace locus {

/// Every n words in a row, joined by one space: "not boring".  None if the document is shorter than n.
/// Throws Error(usage) if n < 1.
std::vector<std::string> word_ngrams(const Document& document, Index n);

/// Every n characters in a row, spaces included: "e t".  Characters and spaces as split_characters gives them.
/// Throws Error(usage) if n < 1 or the text is not UTF-8.
std::vector<std::string> character_ngrams(const std::string& text, Index n);

struct NextWord {
    std::string word;
    Index count = 0;
    double probability = 0;  // of all that followed the same context
};

/// Which words followed every context of n - 1 words, inside documents.
class NextWordTable {
public:
    /// Throws Error(usage) if n < 1.
    NextWordTable(const std::vector<Document>& documents, Index n);

    Index n() const { return n_; }
    /// Words seen after the last n - 1 words of `context`, the most frequent first, equal counts in the order met.
    /// Empty if that context was never followed by anything.  Throws Error(usage) if the context is shorter than n - 1.
    std::vector<NextWord> after(const Document& context) const;

private:
    Index n_;
    std::unordered_map<std::string, std::vector<std::string>> followers_;  // in the order met
};

}  // namespace locus
