#pragma once
// The unigram language model: of all ways to cut a word, the one whose pieces' log probabilities sum to the most.
// Source: Kudo 2018; google/sentencepiece unigram_model.cc; huggingface/tokenizers models/unigram/model.rs.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/tokenizers/piece_trie.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

/// A stretch of a text and its piece.
struct PieceSpan {
    std::size_t begin = 0, end = 0;
    std::int64_t id = kUnknownSpan;

    static constexpr std::int64_t kUnknownSpan = -1;  // one character that no piece covers
};

/// The cut with the largest sum of scores; of equal sums, the one whose last piece begins first (Viterbi).
/// `scores` by id; a piece with -infinity is never taken.  A character that is no piece by itself costs
/// `unknown_score`; without one, Error(usage).  Sum: the type in which the library to follow keeps its sums, double for
/// huggingface/tokenizers, float for google/sentencepiece, for rounding decides which sums are equal.
/// Source: unigram_model.cc, EncodeOptimized.  Throws Error(usage) for a text of 4 GiB.
template <class Sum>
std::vector<PieceSpan> best_cut(const PieceTrie& pieces, const std::vector<double>& scores,
                                std::optional<Sum> unknown_score, std::string_view text);

class UnigramModel : public PieceModel {
public:
    /// Pieces with their log probabilities; the id is the place in the list.  Without an unknown id, text that the
    /// pieces do not cover is refused by cut() with Error(usage).
    /// Throws Error(unreadable) that begins with `location` for an empty list, an empty piece, one that is there twice,
    /// a score that is no number, or an unknown id outside the list.
    UnigramModel(const std::vector<std::pair<std::string, double>>& pieces, std::optional<std::size_t> unknown,
                 bool byte_fallback, const std::string& location);

    /// Neighbouring unknown characters are one piece, with the id of the unknown one and the text they stand for.
    void cut(const std::string& word, std::vector<Piece>& pieces) const override;
    std::optional<std::int64_t> find(const std::string& piece) const override { return vocabulary_.find(piece); }
    std::optional<std::string> piece(std::int64_t id) const override { return vocabulary_.piece(id); }

private:
    void add_unknown(const std::string& text, std::vector<Piece>& pieces) const;

    Vocabulary vocabulary_;
    PieceTrie trie_;
    std::vector<double> scores_;  // by id
    std::optional<std::int64_t> unknown_;
    std::optional<double> unknown_score_;
    bool byte_fallback_ = false;
};

}  // namespace locus
