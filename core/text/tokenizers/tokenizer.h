#pragma once
// Text to token ids and back, as the model's own tokenizer does it.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace locus {

struct Tokens {
    std::vector<std::int64_t> ids;    // with the special tokens the model wants
    std::vector<std::string> pieces;  // one per id; "▁" or "Ġ" marks the start of a word, "##" a piece inside one
    std::vector<bool> special;        // [CLS], [SEP], [MASK], ...
    std::vector<std::string> behind;  // the word that "[UNK]" stands for, where the piece does not say it; else empty
    bool pair = false;                // two texts, of encode_pair
    std::vector<std::int64_t> types;  // one per id: 0 for the first text, 1 for a second, 2 for XLNet's <cls>

    /// The piece, or the word behind it.
    const std::string& text(std::size_t n) const { return behind[n].empty() ? pieces[n] : behind[n]; }
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    /// Empty text gives the special tokens alone.  Throws Error(usage) for text that is not UTF-8.
    virtual Tokens encode(const std::string& text) const = 0;
    /// Two texts as one input: [CLS] first [SEP] second [SEP], or first <sep> second <sep> <cls>, with token types.
    /// Throws Error(usage) for text that is not UTF-8, Error(unsupported) where the tokenizer has no form for two
    /// texts.
    virtual Tokens encode_pair(const std::string& first, const std::string& second) const = 0;
    /// Piece of an id, e.g. "▁store"; "[MASK]" for specials.  An id outside the vocabulary gives "<id>".
    virtual std::string piece(std::int64_t id) const = 0;
    virtual std::optional<std::int64_t> mask_id() const = 0;
    /// Nothing where the model has no padding (Transformer-XL).
    virtual std::optional<std::int64_t> pad_id() const = 0;
    /// The token between two texts, [SEP] or <sep>; nothing where there is no form for two texts.
    virtual std::optional<std::int64_t> separator_id() const = 0;
    /// Does padding go before the shorter texts of a batch (XLNet)?
    virtual bool pads_left() const = 0;
    /// How many special tokens encode() puts before the text and after it, e.g. 1 and 1.
    virtual std::pair<std::size_t, std::size_t> frame() const = 0;
};

/// Opens the first of these that the folder holds; the files a model was trained with come before a conversion.
///   spm.model                  SentencePiece, DeBERTa v2 and v3
///   spiece.model               SentencePiece, XLNet
///   vocab.json and merges.txt  byte-level BPE: DeBERTa v1, RoBERTa, GPT-2
///   vocab.txt                  words if the model is a Transformer-XL, else WordPiece: BERT, RoFormer
///   vocab.json                 words of a Transformer-XL
///   tokenizer.json             BPE, WordPiece or Unigram of the library tokenizers
/// tokenizer_class of tokenizer_config.json, or else model_type of config.json, decides between kinds that share a
/// file.  Names, ids and flags of special tokens come from tokenizer_config.json, special_tokens_map.json and
/// added_tokens.json where they are.
/// Throws Error(unreadable) for damaged files and Error(unsupported) where there is no tokenizer that Locus reads; the
/// sentence says to give --tokens instead.
std::unique_ptr<Tokenizer> open_tokenizer(const std::filesystem::path& folder);

/// "▁store" -> "store", "Ġstore" -> "store": a piece as a person reads it.
std::string display_piece(const std::string& piece);

}  // namespace locus
