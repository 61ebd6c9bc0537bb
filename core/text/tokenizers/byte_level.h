#pragma once
// The first two steps of byte-level BPE: words as GPT-2 cuts them, and bytes as characters one can print.
// Source: openai/gpt-2 src/encoder.py; huggingface/tokenizers pre_tokenizers/byte_level.rs.
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// Contractions, letters, digits and other marks with the blank before them, and white space:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::vector<std::string> gpt2_words(std::string_view text);

/// Every byte as a character: the printable ones of Latin-1 as themselves, the others from U+0100 on, so that a blank
/// is U+0120.
std::string bytes_as_characters(std::string_view bytes);

}  // namespace locus
