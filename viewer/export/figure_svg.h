#pragma once
// A recorded frame as a vector figure (SVG): what was drawn, line by line, with words as words.
#include <imgui.h>
#include <functional>
#include <string>
#include <vector>

#include "viewer/automation/draw_recorder.h"
#include "viewer/plots/colour_map.h"

namespace locus {

/// The cells of an image: one pixel a cell, or a block of cells where there are very many.
struct CellPicture {
    Pixels cells;
    // Where the image's box begins, and how much of them it shows, counted in pixels of `cells`.
    double first_x = 0, first_y = 0, wide = 0, high = 0;
};

/// Up to this many cells along a side every cell is a rectangle of its own; more become an embedded PNG.
inline constexpr int kMostVectorCells = 64;

struct SvgSetup {
    Corners frame;    // what of the log becomes the figure
    float units = 1;  // of the frame per design pixel: how large letters are
    bool transparent = false;
    ImU32 background = 0;
    std::vector<std::pair<Corners, ImU32>> panels;  // on the background
    std::string title, command, software;
    std::function<CellPicture(const ImageMark&)> cells;
};

/// A whole SVG 1.1 file.  Strokes lie where Dear ImGui puts them, to a hundredth of a unit.
std::string svg_of(const DrawRecorder& log, const SvgSetup& setup);

/// Text as XML wants it: &, <, >, quotes; what XML cannot hold becomes U+FFFD.
std::string xml_text(const std::string& text);

// Small pieces of SVG.

/// Two decimals at most, no zeros at the end: "12.5", "3".
std::string svg_number(double value);
/// ` fill="#4f8ff7" fill-opacity="0.35"`; `role` is fill or stroke.
std::string svg_colour(const char* role, ImU32 colour);
/// ` name="12.5"`
std::string svg_attribute(const char* name, double value);
std::string base64(const std::string& bytes);

}  // namespace locus
