#pragma once
// SentencePiece as DeBERTa v2, v3 and XLNet use it: the table of replacements it was trained with, what XLNet does to a
// text before it, and the two tokenizers.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

// --- replacements ----------------------------------------------------------------------------------------------------
// The normalisation that SentencePiece trained with, as tokenizer.json carries it: a table of replacements.
// Source: google/sentencepiece normalizer.cc; huggingface/spm_precompiled lib.rs.

/// Replacements for grapheme clusters and characters, found through a double-array trie.
class Charsmap {
public:
    /// `bytes`: uint32 size of the trie, the trie's uint32 units (little endian), the replacements, each ended by 0.
    /// Throws Error(unreadable) that begins with `location` if the sizes do not fit.
    Charsmap(std::string_view bytes, const std::string& location);

    /// A grapheme cluster of less than 6 bytes is looked up as a whole, then its characters one by one; what is not in
    /// the table stays.  The lookup ends at the shortest entry that the cluster begins with, and the rest of the
    /// cluster goes with it, as in the Rust library (SentencePiece itself takes the longest).
    std::string apply(const std::string& text) const;

private:
    const std::string* find(std::string_view key) const;

    std::vector<std::uint32_t> trie_;
    std::vector<std::pair<std::size_t, std::string>> replacements_;  // by their place in the file, sorted
};

/// Bytes of a base64 text.  Throws Error(unreadable) that begins with `location` for any other character.
std::string decode_base64(std::string_view text, const std::string& location);

// --- text of XLNet ---------------------------------------------------------------------------------------------------
// What XLNet does to a text before SentencePiece, and to its pieces afterwards.
// Source: transformers tokenization_xlnet.py, preprocess_text and _tokenize; zihangdai/xlnet prepro_utils.py.

struct XlnetText {
    bool lower_case = false, keep_accents = false, remove_space = true;
};

/// One blank for every run of white space, none at the ends; " for `` and ''; no accents (after NFKD); lower case.
std::string prepare_xlnet_text(const std::string& text, const XlnetText& options);

/// A piece that ends in a digit and a comma is cut again by `encode` without its comma, which becomes a piece.
std::vector<std::string> cut_digit_commas(const std::vector<std::string>& pieces,
                                          const std::function<std::vector<std::string>(const std::string&)>& encode);

// --- the tokenizers --------------------------------------------------------------------------------------------------
// Source: transformers tokenization_deberta_v2.py, tokenization_xlnet.py.

/// [CLS] text [SEP]; [MASK] follows the pieces of the model unless the model or a file says otherwise.
/// Throws Error(unreadable) that names the damaged file or the special token that the model lacks.
std::unique_ptr<Tokenizer> open_deberta_sentencepiece(const std::filesystem::path& model, const TokenizerFiles& files);

/// text <sep> <cls>, padded on the left.  Throws as above.
std::unique_ptr<Tokenizer> open_xlnet_sentencepiece(const std::filesystem::path& model, const TokenizerFiles& files);

}  // namespace locus
