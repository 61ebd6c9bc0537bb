#pragma once
// Small pieces that every page uses: text with indices, chips, steppers, rules, rows of label and number.
#include <imgui.h>

#include <string>
#include <vector>

#include "viewer/theme.h"

namespace locus::view {

/// A stretch of text in one colour.  "_{i}" sets an index below, "^{r}" one above.
struct TextRun {
    std::string text;
    ImU32 colour = 0;
};

/// Draws runs one behind another; returns their width.  `corner` is the top left of the line.
float draw_runs(ImVec2 corner, const std::vector<TextRun>& runs, ImFont* font);
float width_of_runs(const std::vector<TextRun>& runs, ImFont* font);

float text_width(const std::string& text, ImFont* font);
void draw_text(ImVec2 corner, const std::string& text, ImU32 colour, ImFont* font);
/// Right-aligned at x.
void draw_text_right(float right, float top, const std::string& text, ImU32 colour, ImFont* font);
/// Shortened with an ellipsis until it fits; never cuts a character in two.
std::string fitted(const std::string& text, float width, ImFont* font);
/// Lines that fit the width; returns the height used.
float draw_wrapped(ImVec2 corner, float width, const std::string& text, ImU32 colour);

/// A rounded label that can be pressed.  Returns true when it is.
bool chip(const char* id, ImVec2 corner, float height, const std::string& text, ImU32 text_colour, ImU32 outline,
          float& width, const Palette& colours);
/// "‹ 2 ›": changes the value inside [low, high]; returns true if it did.  `width` receives how wide it is.
bool stepper(const char* id, ImVec2 corner, float height, int& value, int low, int high, float& width,
             const Palette& colours);
/// One of several labels side by side; returns true if another was chosen.
bool segmented(const char* id, ImVec2 corner, float height, const std::vector<std::string>& labels, int& chosen,
               float& width, const Palette& colours);
/// A slider with its label left and its value right; returns true if it moved.
bool labelled_slider(const char* id, ImVec2 corner, float width, const char* label, int& value, int low, int high,
                     const Palette& colours);

/// A column of text from top to bottom, as in the microscope.
class Column {
public:
    Column(ImVec2 corner, float width, const Palette& colours) : corner_(corner), width_(width), colours_(colours) {}

    void title(const std::string& text, const std::string& aside);
    void row(const std::vector<TextRun>& label, const std::string& value, bool strong = false);
    /// A label, a bar of `share` (0 to 1) and a number.
    void bar(const std::vector<TextRun>& label, float label_width, double share, ImU32 colour,
             const std::string& value);
    void paragraph(const std::string& text);
    void rule();
    void space(float units) { corner_.y += px(units); }
    ImVec2 at() const { return corner_; }
    float width() const { return width_; }

private:
    ImVec2 corner_;
    float width_;
    const Palette& colours_;
};

}  // namespace locus::view
