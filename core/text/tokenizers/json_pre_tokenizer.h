#pragma once
// The pre-tokenizer of tokenizer.json: how a text is cut into words.
// Source: huggingface/tokenizers src/pre_tokenizers.
#include <functional>
#include <string>
#include <vector>

#include "core/text/tokenizers/json_fields.h"

namespace locus {

/// Cuts every word of a list further; none of the words that come out is empty.  `at_start` says that nothing stands
/// before the first of them.
using PreTokenizer = std::function<std::vector<std::string>(const std::vector<std::string>& words, bool at_start)>;

/// Reads Sequence, ByteLevel, BertPreTokenizer, Whitespace, WhitespaceSplit, CharDelimiterSplit, Punctuation, Digits,
/// Split and Metaspace.  Throws Error(unsupported) that names any other type, Error(unreadable) for damaged fields.
PreTokenizer read_pre_tokenizer(const JsonFields& json);

}  // namespace locus
