#pragma once
// Byte-pair encoding: the merges, the model that cuts a word by them, and the tokenizer of DeBERTa v1, RoBERTa and
// GPT-2.  Neighbours are merged, the pair learned first goes first.
// Source: Sennrich et al. 2016; openai/gpt-2 src/encoder.py (rounds); huggingface/tokenizers models/bpe/word.rs.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"
#include "core/text/tokenizers/vocabulary.h"

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

// --- the model -------------------------------------------------------------------------------------------------------
// Byte-pair encoding of a word: its characters, merged.

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

// --- the tokenizer ---------------------------------------------------------------------------------------------------
// Byte-level BPE as DeBERTa v1, RoBERTa and GPT-2 use it: vocab.json and merges.txt.
// Source: transformers tokenization_deberta.py, tokenization_roberta.py, tokenization_gpt2.py.

/// [CLS] text [SEP] if the vocabulary has [CLS], <s> text </s> if it has <s>, nothing around the text for a
/// GPT2Tokenizer; other names if a file gives them.  The mask takes the white space before it, unless a file says
/// otherwise.  do_lower_case is no option of this kind and has no effect, as in transformers.
/// Throws Error(unreadable) that names the file and the line or piece, Error(unsupported) for a GPT2Tokenizer with
/// add_bos_token: true.
std::unique_ptr<Tokenizer> open_byte_bpe(const TokenizerFiles& files);

}  // namespace locus
