#pragma once
// Characters of a text: one after the other, in the order in which they are drawn.
#include <string>
#include <string_view>

namespace locus {

/// UTF-8 of a character.
std::string utf8_of(char32_t character);

/// True for letters of scripts that are written from right to left.
bool runs_left(char32_t character);
/// True for characters that no font draws: joiners, marks of direction, variation selectors, controls.  A token may
/// consist of one, so the screen shows them as boxes.
bool has_no_shape(char32_t character);

/// The text as it is drawn from left to right: runs of right-to-left letters, with the blanks and points between them,
/// are turned round, marks stay behind their letter.  Everything else stays; so do the shapes of letters.
std::string visual_order(std::string_view text);

/// "1F468", at least four digits: what stands in the box of a character that no font has.
std::string hex_of(char32_t character);

}  // namespace locus
