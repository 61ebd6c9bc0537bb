#pragma once
// The normalizer and the pre-tokenizer of tokenizer.json: from a text to words.
// Source: huggingface/tokenizers src/normalizers, src/pre_tokenizers.
#include <functional>
#include <string>
#include <vector>

#include "core/json_text.h"
#include "core/text/tokenizers/pre_tokenizers.h"

namespace locus {

/// Reads a field {"pattern": {"String": " "}} or {"pattern": {"Regex": "\\s+"}}.
/// Throws Error(unreadable) if it is neither of the two, or ICU cannot read it.
Pattern read_pattern(const JsonFields& json);

/// What happens to a text before it is cut into words.
using Normalizer = std::function<std::string(const std::string&)>;

/// Reads Sequence, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Prepend, Replace, BertNormalizer, ByteLevel
/// and Precompiled.  Throws Error(unsupported) that names any other type, Error(unreadable) for damaged fields.
Normalizer read_normalizer(const JsonFields& json);

/// The words of a text so far, none of them empty.
struct CutWords {
    std::vector<std::string> list;
    bool at_start =
        false;  // the first of them begins with the first character of the input, none was dropped before it
};

/// Cuts every word of a list further.
using PreTokenizer = std::function<CutWords(const CutWords& words)>;

/// Reads Sequence, ByteLevel, BertPreTokenizer, Whitespace, WhitespaceSplit, CharDelimiterSplit, Punctuation, Digits,
/// Split and Metaspace.  Throws Error(unsupported) that names any other type, Error(unreadable) for damaged fields.
PreTokenizer read_pre_tokenizer(const JsonFields& json);

}  // namespace locus
