#pragma once
// Words and their numbers.
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/tensor.h"

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

}  // namespace locus
