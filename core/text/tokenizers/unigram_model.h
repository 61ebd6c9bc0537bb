#pragma once
// The unigram language model: of all ways to cut a word, the one whose pieces' log probabilities sum to the most.
// Source: Kudo 2018; google/sentencepiece unigram_model.cc; huggingface/tokenizers models/unigram/model.rs.
#include <string_view>
#include <utility>

#include "core/text/tokenizers/vocabulary.h"

namespace locus {

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
    struct Step {  // the best way to a place in the word
        double score = 0;
        std::size_t from = 0;
        std::int64_t id = -1;  // of the piece that ends here; -1: no way known yet
    };
    std::vector<Step> best_steps(std::string_view word) const;
    void add_unknown(const std::string& text, std::vector<Piece>& pieces) const;

    Vocabulary vocabulary_;
    std::vector<std::pair<std::string, std::int64_t>> sorted_;  // pieces in the order of their bytes, with their ids
    std::vector<double> scores_;                                // by id
    std::optional<std::int64_t> unknown_;
    double unknown_score_ = 0;
    bool byte_fallback_ = false;
};

}  // namespace locus
