#pragma once
// WordPiece: the longest piece of the vocabulary, from the left.
// Source: Wu et al. 2016; google-research/bert tokenization.py, WordpieceTokenizer.
#include "core/text/tokenizers/piece_model.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

class WordPieceModel : public PieceModel {
public:
    /// `prefix` ("##") marks a piece that does not begin a word; a word of more than `longest` characters is unknown.
    WordPieceModel(Vocabulary vocabulary, Piece unknown, std::string prefix = "##", std::size_t longest = 100)
        : vocabulary_(std::move(vocabulary)),
          unknown_(std::move(unknown)),
          prefix_(std::move(prefix)),
          longest_(longest) {}

    /// A word that the vocabulary cannot cover to its end is the unknown piece as a whole.
    void cut(const std::string& word, std::vector<Piece>& pieces) const override;
    std::optional<std::int64_t> find(const std::string& piece) const override { return vocabulary_.find(piece); }
    std::optional<std::string> piece(std::int64_t id) const override { return vocabulary_.piece(id); }

private:
    Vocabulary vocabulary_;
    Piece unknown_;
    std::string prefix_;
    std::size_t longest_;
};

}  // namespace locus
