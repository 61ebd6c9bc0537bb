#pragma once
// Cutting a text at the places of a pattern, and what becomes of the pattern's own characters.
// Source: huggingface/tokenizers tokenizer/normalizer.rs, SplitDelimiterBehavior.
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

/// Bytes [begin, end) of a text; `match` says whether the pattern matched there.
struct Span {
    std::size_t begin = 0, end = 0;
    bool match = false;
};

/// Covers a text with spans, matches and what lies between them, in order and without gaps.
using Pattern = std::function<std::vector<Span>(std::string_view text)>;

/// Every character that `wanted` names is a match of its own.
Pattern each_character(std::function<bool(char32_t)> wanted);
/// Every occurrence of a string, from the left; the string is not empty.
Pattern each_occurrence(std::string string);

/// What becomes of the matches: nothing, words of their own, the end of the word before, the beginning of the word
/// behind, or one word per run of matches.
enum class Behaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// The words of a text, none of them empty.  `invert` swaps matches and the text between them.
std::vector<std::string> split(std::string_view text, const Pattern& pattern, Behaviour behaviour, bool invert = false);

}  // namespace locus
