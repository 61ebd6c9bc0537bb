#pragma once
// From a text file to sentences of token ids.
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/tensor.h"
#include "core/text/tokenizers/tokenizer.h"

namespace locus {

/// Sentences of uneven length, one behind the other, each with the special pieces of its tokenizer around it.
class TokenSentences {
public:
    void add(std::span<const std::int64_t> ids);
    Index count() const { return static_cast<Index>(starts_.size()) - 1; }
    std::span<const std::int64_t> at(Index sentence) const;
    Index length(Index sentence) const { return static_cast<Index>(at(sentence).size()); }
    /// How many of them begin in the middle of a line, because the line was too long.
    Index cuts() const { return cuts_; }
    void count_cuts(Index more) { cuts_ += more; }

private:
    std::vector<std::int64_t> tokens_;
    std::vector<std::size_t> starts_ = {0};
    Index cuts_ = 0;
};

/// One sentence a line, in the order of the file.  A line of more than max_length tokens, special ones included, is cut
/// behind the last sentence that fits, or else in front of a word, or else where it must be.  Lines without a known
/// piece are left out.
/// Throws what read_corpus_text() throws, Error(usage) for a max_length without room for a word, and Error(unreadable)
/// if every piece is unknown to the tokenizer.
TokenSentences read_token_sentences(const std::filesystem::path& corpus, const Tokenizer& tokenizer, Index max_length);

/// Sentences to learn from, and those held out to judge by; both ascending.
struct CorpusSplit {
    std::vector<Index> learn, heldout;
};
/// Holds out round(share * count) sentences drawn at random, but leaves at least one to learn from.
/// Throws Error(usage) unless 0 <= share < 1.
CorpusSplit split_corpus(Index count, double share, std::uint64_t seed);

}  // namespace locus
