#pragma once
// Byte-pair encoding of a word: its characters, merged.
#include <filesystem>

#include "core/text/tokenizers/pair_merges.h"
#include "core/text/tokenizers/piece_model.h"
#include "core/text/tokenizers/vocabulary.h"

namespace locus {

struct BpeOptions {
    MergeOrder order = MergeOrder::rounds;
    std::optional<Piece> unknown;    // stands for a character without a piece; without one it is left out
    bool fuse_unknown = false;       // a run of such characters is one piece
    bool byte_fallback = false;      // such a character becomes its bytes: <0xE2> <0x82> <0xAC>
    bool whole_words_first = false;  // a word that is a piece is not cut
};

class BpeModel : public PieceModel {
public:
    BpeModel(Vocabulary vocabulary, PairMerges merges, BpeOptions options)
        : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {}

    void cut(const std::string& word, std::vector<Piece>& pieces) const override;
    std::optional<std::int64_t> find(const std::string& piece) const override { return vocabulary_.find(piece); }
    std::optional<std::string> piece(std::int64_t id) const override { return vocabulary_.piece(id); }

private:
    std::vector<std::int64_t> characters(const std::string& word) const;

    Vocabulary vocabulary_;
    PairMerges merges_;
    BpeOptions options_;
};

/// Adds the merge of two pieces to the list.  Throws Error(unreadable) that begins with `location` and names the piece
/// if one of the three is not in the vocabulary, or the merge is there twice.
void add_merge(PairMerges& merges, const Vocabulary& vocabulary, const std::string& left, const std::string& right,
               const std::string& location);

/// merges.txt: a line "#version: ..." or none, then two pieces and a blank between them per line.
/// Throws Error(unreadable) that names the line.
PairMerges read_merges_txt(const std::filesystem::path& file, const Vocabulary& vocabulary);

/// The pieces <0x00> ... of the bytes of a text, or nothing if the vocabulary lacks one of them.
std::optional<std::vector<Piece>> byte_pieces(const std::string& text, const PieceModel& model);

}  // namespace locus
