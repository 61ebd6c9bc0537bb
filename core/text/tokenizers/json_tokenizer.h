#pragma once
// tokenizer.json of the library tokenizers: added tokens, normalizer, pre-tokenizer, model and frame in one file.
// Source: huggingface/tokenizers src/tokenizer/mod.rs, added_vocabulary.rs, processors.
#include <memory>

#include "core/text/tokenizers/tokenizer.h"
#include "core/text/tokenizers/tokenizer_files.h"

namespace locus {

/// Reads tokenizer.json.  The mask and padding tokens are those that tokenizer_config.json or special_tokens_map.json
/// name, or else the added ones called [MASK] or <mask>, [PAD] or <pad>.
/// Throws Error(unsupported) that names the first component of a type that Locus does not know, Error(unreadable) that
/// names the damaged field.
std::unique_ptr<Tokenizer> open_tokenizer_json(const TokenizerFiles& files);

}  // namespace locus
