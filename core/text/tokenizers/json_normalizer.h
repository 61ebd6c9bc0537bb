#pragma once
// The normalizer of tokenizer.json: what happens to a text before it is cut into words.
// Source: huggingface/tokenizers src/normalizers.
#include <functional>
#include <string>

#include "core/text/tokenizers/json_fields.h"

namespace locus {

using Normalizer = std::function<std::string(const std::string&)>;

/// Reads Sequence, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Prepend, Replace, BertNormalizer, ByteLevel
/// and Precompiled.  Throws Error(unsupported) that names any other type, Error(unreadable) for damaged fields.
Normalizer read_normalizer(const JsonFields& json);

}  // namespace locus
