#pragma once
// The wheel moves a column that is longer than its room.
#include "viewer/ui/ui.h"

namespace locus {

/// Call behind everything in the column: a place that reacts to the mouse keeps the wheel to itself.
/// scrolled: window units the column stands further up; over: how many of them it can, at most.
void scroll_by_wheel(const Ui& ui, const Rect& room, float& scrolled, float over);

}  // namespace locus
