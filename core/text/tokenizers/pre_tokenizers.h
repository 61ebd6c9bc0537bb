#pragma once
// Cutting a text into words, before a model cuts the words into pieces: by a pattern, as BERT does, as GPT-2 does.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

// --- patterns --------------------------------------------------------------------------------------------------------
// Cutting a text at the places of a pattern, and what becomes of the pattern's own characters.
// Source: huggingface/tokenizers tokenizer/normalizer.rs, SplitDelimiterBehavior.

/// Bytes [begin, end) of a text; `match` says whether the pattern matched there.
struct TextSpan {
    std::size_t begin = 0, end = 0;
    bool match = false;
};

/// Covers a text with spans, matches and what lies between them, in order and without gaps.
using Pattern = std::function<std::vector<TextSpan>(std::string_view text)>;

/// Every character that `wanted` names is a match of its own.
Pattern each_character(std::function<bool(char32_t)> wanted);
/// Every occurrence of a string, from the left; the string is not empty.
Pattern each_occurrence(std::string string);

/// What becomes of the matches: nothing, words of their own, the end of the word before, the beginning of the word
/// after, or one word per run of matches.
enum class Behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// The words of a text, none of them empty.  `invert` swaps matches and the text between them.
std::vector<std::string> split(std::string_view text, const Pattern& pattern, Behaviour behaviour, bool invert = false);

/// A regular expression of Oniguruma, which tokenizers runs, as ICU reads it: [:punct:] has the symbols too ($, +, ^),
/// \w has \u00b2 \u00b3 \u00b9 \u00bc \u00bd \u00be outside a set and no join controls.  Throws Error(unsupported) that
/// begins with `location` for what means something else to ICU: \h, \H, \O, \K and the option m.
std::string icu_expression(std::string_view text, const std::string& location);

/// A pattern out of a regular expression, matched by ICU; ^ and $ also mean the ends of lines, as in the library that
/// wrote the files.  An empty match cuts the text too, unless it follows a match at once.  Throws Error(unreadable)
/// that begins with `location` if ICU cannot read the expression; the pattern throws Error(unsupported) if one text
/// costs it more than about ten million steps.
Pattern expression(const std::string& text, const std::string& location);

// --- BERT ------------------------------------------------------------------------------------------------------------
// Words as BERT cuts them, before WordPiece: clean text, Han characters by themselves, no accents, punctuation apart.
// Source: google-research/bert tokenization.py, BasicTokenizer; huggingface/tokenizers normalizers/bert.rs.

/// Where the two programs differ: Python drops unassigned characters as control characters, Rust keeps them, and Rust
/// does not count U+2B820 ... U+2B91F as Han.
enum class BertEdition { python, rust };

/// Without U+0000, U+FFFD and control characters; white space becomes blanks.
std::string bert_clean(const std::string& text, BertEdition edition);

/// A blank before and after every Han character.
std::string bert_space_han(const std::string& text, BertEdition edition);

/// Without nonspacing marks, after the canonical decomposition.
std::string bert_strip_accents(const std::string& text);

/// Punctuation as BERT means it: P* and everything printable in ASCII that is no letter, digit or blank ($, +, ~).
bool is_bert_punctuation(char32_t character);

/// The words between white space, punctuation marks as words of their own.
std::vector<std::string> bert_words(std::string_view text);

// --- RoFormer --------------------------------------------------------------------------------------------------------
// Words as jieba cuts them for RoFormer, as far as that takes no dictionary of Chinese.
// Source: transformers 4.57.6 tokenization_roformer.py, _tokenize (slow), and roformer/tokenization_utils.py,
// JiebaPreTokenizer (tokenizer.json); messense/jieba-rs lib.rs, cut without hidden Markov model.

/// Runs of ASCII letters and digits, and every other character as a word of its own: "café" is caf é, "\r\n" one
/// word.  The dictionary holds five words of ASCII signs, which are cut out first: c#, C#, c++, C++, AT&T.
std::vector<std::string> jieba_words(std::string_view text);

std::size_t count_han(std::string_view text);

/// Throws Error(unsupported) that names jieba if the text has Han characters.
void check_no_han(std::string_view text);

// --- GPT-2 -----------------------------------------------------------------------------------------------------------
// The first two steps of byte-level BPE: words as GPT-2 cuts them, and bytes as characters one can print.
// Source: openai/gpt-2 src/encoder.py; huggingface/tokenizers pre_tokenizers/byte_level.rs.

/// Contractions, letters, digits and other marks with the blank before them, and white space:
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::vector<std::string> gpt2_words(std::string_view text);

/// Every byte as a character: the printable ones of Latin-1 as themselves, the others from U+0100 on, so that a blank
/// is U+0120.
std::string bytes_as_characters(std::string_view bytes);

}  // namespace locus
