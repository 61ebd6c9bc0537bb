#pragma once
// Text, character by character.
#include <string>
#include <string_view>

namespace locus {

/// The next character of a UTF-8 text, which is shortened by it; U+FFFD for bytes that are none.
char32_t take_character(std::string_view& text);

/// A to Z become a to z; everything else stays.
std::string lower_ascii(std::string text);
/// A first letter from a to z becomes large.
std::string capital(std::string sentence);

}  // namespace locus
