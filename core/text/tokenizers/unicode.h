#pragma once
// Characters of a text and what the Unicode tables say about them; all of it is ICU's.
// Texts are UTF-8: the code that reads one from outside checks it first (check_utf8, repair_utf8).
#include <cstddef>
#include <string>
#include <string_view>

namespace locus {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// A text in one of the four normal forms.
std::string normalize(const std::string& text, NormalForm form);

/// Lower case of the whole text: a sigma at the end of a word becomes a final one, as in Python's str.lower.
std::string lower_case(const std::string& text);

/// The text in Latin letters without accents, as far as ICU can spell it: "\ubc1c" becomes "bal".
std::string latin_letters(const std::string& text);

/// The character at byte `at`; moves `at` after it.
char32_t next_character(std::string_view text, std::size_t& at);

/// How many bytes a character has by its first one; 1 for a byte that begins none.
inline std::size_t character_bytes(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The character that ends before byte `at` > 0.
char32_t previous_character(std::string_view text, std::size_t at);

/// Puts a character at the end of a text.
void append_character(std::string& text, char32_t character);

bool is_white_space(char32_t character);          // property White_Space
bool is_python_space(char32_t character);         // str.isspace of Python: White_Space and U+001C ... U+001F
bool is_mark(char32_t character);                 // Mn, Mc, Me
bool is_nonspacing_mark(char32_t character);      // Mn
bool is_combining(char32_t character);            // combining class other than 0
bool is_number(char32_t character);               // Nd, Nl, No
bool is_unicode_punctuation(char32_t character);  // P*
bool is_control(char32_t character);              // Cc, Cf, Co, Cs
bool is_unassigned(char32_t character);           // Cn
bool is_han(char32_t character);                  // script Han
bool is_word_character(char32_t character);       // \w: alphabetic, mark, decimal digit, connector, join control

/// The text without the characters that `drop` names.
template <class Drop>
std::string without(const std::string& text, Drop drop) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        if (!drop(next_character(text, at))) kept.append(text, start, at - start);
    }
    return kept;
}

/// Calls visit(begin, end) for every longest run of bytes whose characters are no separators.
template <class Separator, class Visit>
void for_each_run(std::string_view text, Separator separator, Visit visit) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        if (!separator(next_character(text, at))) continue;
        if (start > begin) visit(begin, start);
        begin = at;
    }
    if (text.size() > begin) visit(begin, text.size());
}

// --- UTF-8 -----------------------------------------------------------------------------------------------------------
// Text from outside may not be UTF-8; everything inside is.

struct RepairedText {
    std::string text;
    std::size_t replaced = 0;  // how many U+FFFD stand for bytes that were none
};

/// The text with U+FFFD for every longest run of bytes that begins like a character and is none (the Unicode
/// standard's "maximal subpart").  Valid text is returned unchanged, with 0 replaced.
RepairedText repair_utf8(const std::string& text);

/// Place of the first byte that is not UTF-8, or the size of the text.
std::size_t first_bad_byte(const std::string& text);

/// Throws Error(usage) that names the byte if the text is not UTF-8.
void check_utf8(const std::string& text);

// --- lower case by character -----------------------------------------------------------------------------------------
// Lower case as Python's str.lower does it to single characters.

/// Each character by itself, so that a sigma at the end of a word stays a sigma; one may become two (U+0130).
/// Throws Error(usage) if the text is not UTF-8.
std::string lower_case_by_character(const std::string& text);

}  // namespace locus
