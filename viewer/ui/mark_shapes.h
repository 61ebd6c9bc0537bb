#pragma once
// How far the marks of a frame reach.
#include "viewer/automation/draw_recorder.h"

namespace locus {

/// The smallest box around what is drawn, strokes included.
Corners bounds(const LineMark& line);
Corners bounds(const CurveMark& curve);
Corners bounds(const CircleMark& circle);
Corners bounds(const SectorMark& sector);
Corners bounds(const PolygonMark& polygon);
Corners bounds(const RectMark& rect);
Corners bounds(const TextMark& text);
Corners bounds(const ImageMark& image);

/// Shortens a straight line to the part that lies inside (Liang and Barsky 1984); false if there is none.
bool cut_line(ImVec2& a, ImVec2& b, const Corners& clip);

}  // namespace locus
