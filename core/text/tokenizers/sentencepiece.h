#pragma once
// SentencePiece as DeBERTa v2, v3 and XLNet use it: what XLNet does to a text before it, and the two tokenizers.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

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

/// [CLS] text [SEP]; [MASK] follows the pieces of the model unless the model or a file says otherwise.  split_by_punct
/// of tokenizer_config.json gives the model every punctuation mark, and what stands between two, as a text of its own.
/// Throws Error(unreadable) that names the damaged file or the special token that the model lacks, Error(unsupported)
/// for an option of sp_model_kwargs that changes the pieces.
std::unique_ptr<Tokenizer> open_deberta_sentencepiece(const std::filesystem::path& model, const TokenizerFiles& files);

/// text <sep> <cls>, padded on the left.  Throws as above.
std::unique_ptr<Tokenizer> open_xlnet_sentencepiece(const std::filesystem::path& model, const TokenizerFiles& files);

}  // namespace locus
