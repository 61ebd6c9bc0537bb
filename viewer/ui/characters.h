#pragma once
// Text, character by character: UTF-8, and the order in which characters are drawn.
#include <string>
#include <string_view>

namespace locus {

/// The next character of a UTF-8 text, which is shortened by it; U+FFFD for bytes that are none.
char32_t take_character(std::string_view& text);

/// A to Z become a to z; everything else stays.
std::string lower_ascii(std::string text);
/// A first letter from a to z becomes large.
std::string capital(std::string sentence);

/// UTF-8 of a character.
std::string utf8_of(char32_t character);

/// True for letters of scripts that are written from right to left.
bool runs_left(char32_t character);
/// True for characters that no font draws: joiners, marks of direction, variation selectors, controls.  A token may
/// consist of one, so the screen shows them as boxes.
bool has_no_shape(char32_t character);

/// The text as it is drawn from left to right: runs of right-to-left letters, with the blanks and points between them,
/// are reversed, marks stay after their letter.  Everything else stays; so do the shapes of letters.
std::string visual_order(std::string_view text);

/// "1F468", at least four digits: what is written in the box of a character that no font has.
std::string hex_of(char32_t character);

}  // namespace locus
