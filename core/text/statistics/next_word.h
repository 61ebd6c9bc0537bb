#pragma once
// The next word by counting n-grams: a language model before neural networks.
#include <string>
#include <unordered_map>
#include <vector>

#include "core/text/statistics/word_list.h"

namespace locus {

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
