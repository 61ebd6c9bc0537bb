#pragma once
// Does a frame fit?  Read off the frame itself: what was drawn, where, and what could be seen of it.
#include <string>
#include <vector>

#include "viewer/automation/draw_recorder.h"

namespace locus {

/// One sentence for each fault, empty for a frame without: a text that is cut off by its room or by the window, two
/// texts over each other, a place that reacts to the mouse but lies outside the window.  What a wheel scrolls may be
/// cut off (Ui::Scrolled), and a sheet (DrawRecorder::above) may cover the page.  `window` is the size of the window.
std::vector<std::string> layout_faults(const DrawRecorder& log, ImVec2 window);

}  // namespace locus
