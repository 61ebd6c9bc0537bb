#pragma once
// DeBERTa v2 and v3: SentencePiece with special tokens cut out first.  transformers tokenization_deberta_v2.py.
#include <filesystem>
#include <memory>

#include "core/text/tokenizer.h"

namespace locus {

/// Opens spm.model with added_tokens.json and tokenizer_config.json beside it, where they are.
/// Throws Error(unreadable) that names the damaged file.
std::unique_ptr<Tokenizer> open_sentencepiece(const std::filesystem::path& folder);

}  // namespace locus
