#pragma once
// Lines with a meaning: dashed for what is only a bound or a projection, with a head for what flows.
#include <vector>

#include "viewer/ui/ui.h"

namespace locus {

/// Dashes of `dash` design pixels and gaps as long, running on around corners.
void draw_dashed(const Ui& ui, const std::vector<ImVec2>& corners, ImU32 colour, float width, float dash = 5);

/// Two strokes back from `tip`, for a line that arrives in the direction (dx, dy).
void draw_arrow_head(const Ui& ui, ImVec2 tip, float dx, float dy, ImU32 colour, float width, float size = 6);

/// A triangle that means play (pointing right), or two bars that mean pause.
void draw_play_sign(const Ui& ui, ImVec2 middle, float size, bool playing, ImU32 colour);

/// A colour between two others, 0 ... 1.
ImU32 mixed(ImU32 from, ImU32 to, float share);

}  // namespace locus
