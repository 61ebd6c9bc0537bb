#pragma once
// Curves over one axis, with as many numbers beside it as fit.
#include <optional>
#include <string>
#include <vector>

#include "viewer/ui/ui.h"

namespace locus {

struct Curve {
    std::vector<double> values;  // at x = first_x, first_x + 1, ...; NaN leaves a gap
    ImU32 colour = 0;
    std::string name;  // beside the value when the pointer is on the plot; empty: a line that may run out
    bool dashed = false;
};

struct LinePlot {
    double first_x = 0;
    std::vector<Curve> curves;
    std::optional<double> marked_x;
    bool steps = false;  // hold each value for the width of 1 instead of joining points
    double low = 0, high = 1;
    std::string x_name;  // "i − j"
    std::string unit;    // after the numbers of the y axis: "%"
    int decimals = 1;    // of the value in the tooltip
    bool zero_line = false;
};

/// Fills `area`: numbers of the axes included.  Returns the x under the pointer, rounded to a point of the curves.
std::optional<double> draw_line_plot(const Ui& ui, const char* id, const Rect& area, const LinePlot& plot);

/// Lines of text beside the pointer, above everything else.
void draw_tooltip(const Ui& ui, const std::vector<std::vector<Span>>& lines);

}  // namespace locus
