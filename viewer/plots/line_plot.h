#pragma once
// Curves over one axis, with few ticks and no decoration.
#include <imgui.h>

#include <string>
#include <vector>

#include "viewer/theme.h"

namespace locus::view {

struct Series {
    ImU32 colour = 0;
    std::vector<double> x, y;
    bool steps = false;  // a staircase: y holds until the next x
};

struct LinePlot {
    std::vector<Series> series;
    double x_marked = 0;  // a vertical line
    bool has_mark = false;
    double shaded_beyond = 0;  // shades |x| above this, e.g. where clamping acts; 0: nothing
};

/// Draws the curves into the box; tick labels stand inside `corner` ... `corner + extent`.  Returns the x under the
/// pointer in `hovered_x` and true if the pointer is over the plot.
bool draw_line_plot(ImVec2 corner, ImVec2 extent, const LinePlot& plot, const Palette& colours, double* hovered_x);

}  // namespace locus::view
