#pragma once
// Text from outside may not be UTF-8; everything inside is.
#include <cstddef>
#include <string>

namespace locus {

struct RepairedText {
    std::string text;
    std::size_t replaced = 0;  // how many U+FFFD stand for bytes that were none
};

/// The text with U+FFFD for every longest run of bytes that begins like a character and is none (the Unicode
/// standard's "maximal subpart").  A sound text comes back as it is, with 0 replaced.
RepairedText repair_utf8(const std::string& text);

/// Place of the first byte that is not UTF-8, or the size of the text.
std::size_t first_bad_byte(const std::string& text);

/// Throws Error(usage) that names the byte if the text is not UTF-8.
void check_utf8(const std::string& text);

}  // namespace locus
