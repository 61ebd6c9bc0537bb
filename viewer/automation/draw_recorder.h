#pragma once
// A recorded frame: every line, word and place that reacts to the mouse.  Scripts find what they click in it,
// the layout test measures it, a figure is made of it.
#include <imgui.h>
#include <string>
#include <variant>
#include <vector>

#include "core/tensor.h"
#include "viewer/ui/fonts.h"

namespace locus {

/// In window units, as everything here.
struct Corners {
    ImVec2 min, max;
    bool holds(const Corners& other) const;
    /// Empty where they do not meet.
    Corners common(const Corners& other) const;
    bool empty() const { return max.x <= min.x || max.y <= min.y; }
};

struct LineMark {
    std::vector<ImVec2> points;
    float width = 1;
};
struct CurveMark {
    ImVec2 from, first, second, to;  // a cubic: two ends, two handles
    float width = 1;
};
struct CircleMark {
    ImVec2 centre;
    float radius = 0, width = 0;  // width 0: filled
};
/// Filled, from angle `from` to `to` in radians, as the screen counts them: clockwise from the right.
struct SectorMark {
    ImVec2 centre;
    float radius = 0, from = 0, to = 0;
};
struct PolygonMark {
    std::vector<ImVec2> points;  // filled
};
struct RectMark {
    Corners box;
    float width = 0, rounding = 0;  // width 0: filled
    ImDrawFlags corners = 0;
};
struct TextMark {
    std::string text;
    Corners box;      // from ascender to descender
    ImVec2 baseline;  // where its first character begins
    float size = 0;   // of the font
    Face face = Face::ui;
    bool upwards = false;  // runs upwards from `baseline`
};
struct ImageMark {
    Corners box;
    ImVec2 uv_min, uv_max;
    const void* source = nullptr;  // the Heatmap whose values these are, or nothing
};

struct Mark {
    std::variant<LineMark, CurveMark, CircleMark, SectorMark, PolygonMark, RectMark, TextMark, ImageMark> shape;
    ImU32 colour = 0;
    Corners clip;           // what is outside is not seen
    bool scrolled = false;  // part of a list that the wheel moves
    bool above = false;     // on an overlay that covers the page
};

/// A place that reacts to the mouse, by the name that the code gives it.
struct Item {
    std::string id;
    Corners box, clip;
    bool scrolled = false;
};

/// One cell of a matrix on screen can be found by the matrix's name.
struct MatrixItem {
    std::string id;
    Corners box;  // of the window onto the matrix
    // Cell (i, j) begins (i - first_i) * cell_height below and (j - first_j) * cell_width beside box.min.
    double first_i = 0, first_j = 0, cell_height = 0, cell_width = 0;
    Index rows = 0, cols = 0;
    ImVec2 centre_of(Index i, Index j) const;
};

/// A number on screen, as exact as it is known.
struct NamedValue {
    std::string id;
    double value = 0;
};

struct DrawRecorder {
    std::vector<Mark> marks;
    std::vector<Item> items;
    std::vector<MatrixItem> matrices;
    std::vector<NamedValue> values;

    std::vector<std::string> groups;  // around what is drawn at present
    int scrolled = 0;                 // > 0: what is drawn at present may leave its clip, the wheel brings it back
    bool above = false;               // what is drawn at present lies on an overlay that covers the page

    void clear();
    /// "layer/more": the name of a place inside the groups around it.
    std::string full_id(const std::string& id) const;
    const Item* item(const std::string& id) const;
    const MatrixItem* matrix(const std::string& id) const;
    const NamedValue* value(const std::string& id) const;
};

/// The smallest box around what is drawn, strokes included.
Corners bounds(const LineMark& line);
Corners bounds(const CurveMark& curve);
Corners bounds(const CircleMark& circle);
Corners bounds(const SectorMark& sector);
Corners bounds(const PolygonMark& polygon);
Corners bounds(const RectMark& rect);
Corners bounds(const TextMark& text);
Corners bounds(const ImageMark& image);

/// Shortens a straight line to the part that is inside (Liang and Barsky 1984); false if there is none.
bool cut_line(ImVec2& a, ImVec2& b, const Corners& clip);

}  // namespace locus
