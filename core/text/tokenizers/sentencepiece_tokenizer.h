#pragma once
// SentencePiece as DeBERTa v2 and v3 and as XLNet use it.
// Source: transformers tokenization_deberta_v2.py, tokenization_xlnet.py.
#include <filesystem>
#include <memory>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

/// [CLS] text [SEP]; [MASK] stands behind the pieces of the model unless the model or a file says otherwise.
/// Throws Error(unreadable) that names the damaged file or the special token that the model lacks.
std::unique_ptr<Tokenizer> open_deberta_sentencepiece(const std::filesystem::path& model, const TokenizerFiles& files);

/// text <sep> <cls>, padded on the left.  Throws as above.
std::unique_ptr<Tokenizer> open_xlnet_sentencepiece(const std::filesystem::path& model, const TokenizerFiles& files);

}  // namespace locus
