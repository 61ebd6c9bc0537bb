#pragma once
// What all ways of cutting a word into pieces have in common.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace locus {

struct Piece {
    std::int64_t id = 0;
    std::string text;
    bool special = false;
};

/// Cuts one word (whatever a pre-tokenizer calls a word) into pieces of a vocabulary: BPE, WordPiece, Unigram.
class PieceModel {
public:
    virtual ~PieceModel() = default;
    /// Adds the pieces of a word, which is UTF-8 and not empty.
    virtual void cut(const std::string& word, std::vector<Piece>& pieces) const = 0;
    /// Id of a piece of the vocabulary.
    virtual std::optional<std::int64_t> find(const std::string& piece) const = 0;
    /// Piece of an id; nothing if no piece has it.
    virtual std::optional<std::string> piece(std::int64_t id) const = 0;
};

}  // namespace locus
