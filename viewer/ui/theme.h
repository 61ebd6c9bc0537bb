#pragma once
// Colours: one meaning, one colour, everywhere.
#include <imgui.h>

#include "viewer/plots/colour_map.h"

namespace locus {

struct Theme {
    ThemeName name;
    ImU32 background, panel, line, text, muted, accent;
    ImU32 c2c, c2p, p2c, p2p;
    ImU32 chip;       // background of tokens and of the chosen page
    ImU32 on_accent;  // text on the accent colour
    ImU32 fault;      // sentences that report an error
    Rgb hidden;       // cells that the mask hides, under their hatching
};

const Theme& theme_of(ThemeName name);

/// The same colour, more transparent: share 0 ... 1 of its opacity.
ImU32 faded(ImU32 colour, float share);

ImU32 to_colour(Rgb rgb);

/// Dear ImGui's own widgets (text box, sliders, tooltips) in these colours, at this scale.
void apply_theme(const Theme& theme, float scale);

}  // namespace locus
