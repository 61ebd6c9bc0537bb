#pragma once
// Words as BERT cuts them, before WordPiece: clean text, Han characters by themselves, no accents, punctuation apart.
// Source: google-research/bert tokenization.py, BasicTokenizer; huggingface/tokenizers normalizers/bert.rs.
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// Where the two programs differ: Python drops unassigned characters as control characters, Rust keeps them, and Rust
/// does not count U+2B820 ... U+2B91F as Han.
enum class BertEdition { python, rust };

/// Without U+0000, U+FFFD and control characters; white space becomes blanks.
std::string bert_clean(const std::string& text, BertEdition edition);

/// A blank before and behind every Han character.
std::string bert_space_han(const std::string& text, BertEdition edition);

/// Without nonspacing marks, after the canonical decomposition.
std::string bert_strip_accents(const std::string& text);

/// Punctuation as BERT means it: P* and everything printable in ASCII that is no letter, digit or blank ($, +, ~).
bool is_bert_punctuation(char32_t character);

/// The words between white space, punctuation marks as words of their own.
std::vector<std::string> bert_words(std::string_view text);

}  // namespace locus
