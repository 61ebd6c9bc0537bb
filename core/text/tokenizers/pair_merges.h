#pragma once
// Byte-pair encoding: neighbours are merged, the pair learned first goes first.
// Source: Sennrich et al. 2016; openai/gpt-2 src/encoder.py (rounds); huggingface/tokenizers models/bpe/word.rs (one by
// one).
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace locus {

/// Where the two programs part: GPT-2 merges all places of the best pair before it looks again, tokenizers looks again
/// after every place.  The pieces are the same unless a merge is listed before the one that makes its part.
enum class MergeOrder { rounds, one_by_one };

/// The list of merges: which two pieces become which third, and how early.
class PairMerges {
public:
    /// The next merge of the list; false if the pair is in it already.
    bool add(std::int64_t left, std::int64_t right, std::int64_t merged);

    /// Merges the pieces of one word as far as the list goes; n pieces cost about n log n steps.
    std::vector<std::int64_t> merge(const std::vector<std::int64_t>& word, MergeOrder order) const;

    std::size_t size() const { return merges_.size(); }

private:
    struct Merge {
        std::size_t rank = 0;
        std::int64_t merged = 0;
    };
    const Merge* find(std::int64_t left, std::int64_t right) const;

    std::unordered_map<std::uint64_t, Merge> merges_;  // by both ids, which fit 32 bits
};

}  // namespace locus
