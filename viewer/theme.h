#pragma once
// Colours, type and measures of the viewer, each with one meaning.
#include <imgui.h>

#include <string>

namespace locus::view {

/// Colours of one theme, as ImGui packs them.
struct Palette {
    ImU32 background, panel, line, text, muted, accent;
    ImU32 c2c, c2p, p2c;  // one meaning, one colour, everywhere
    bool dark = true;
};

const Palette& palette(bool dark);
/// The same colour with another opacity, 0 to 1.
ImU32 with_alpha(ImU32 colour, float alpha);

/// Inter for words, JetBrains Mono for numbers, Noto Sans CJK merged into both.
struct Fonts {
    ImFont *regular = nullptr, *semibold = nullptr, *mono = nullptr, *small = nullptr;
};
const Fonts& fonts();

/// Loads the fonts at `scale` with the characters of `extra` besides Latin; what a machine lacks falls back to what it
/// has. Call between frames.
void load_fonts(float scale, const std::string& extra);
/// True if every character of the text is in the loaded fonts' ranges.
bool fonts_cover(const std::string& text);

/// Measures of the drawings are in units of 1/96 inch; px turns them into pixels of this screen.
void set_scale(float scale);
float px(float units);

/// ImGui's own widgets in our colours.
void apply_style(bool dark);

}  // namespace locus::view
