#pragma once
// The colours of the themes as plain numbers: the design's two, and one for eyes that need more contrast.
#include "viewer/plots/colour_map.h"

namespace locus {

struct ThemeColours {
    Rgb background, panel, line, text, muted, accent;
    Rgb c2c, c2p, p2c, p2p;
    Rgb chip;       // behind tokens and the chosen page
    Rgb on_accent;  // text on the accent colour
    Rgb fault;      // sentences that report an error
    Rgb hidden;     // cells that the mask hides, under their hatching
};

const ThemeColours& theme_colours(ThemeName name);

}  // namespace locus
