#pragma once
// What every page draws with: rectangles, text on a common baseline, chips, hairlines, places that react to the mouse.
#include <imgui.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.h"
#include "viewer/plots/pyramid.h"
#include "viewer/ui/canvas.h"
#include "viewer/ui/fonts.h"
#include "viewer/ui/theme.h"

namespace locus {

struct Rect {
    float x0 = 0, y0 = 0, x1 = 0, y1 = 0;

    float width() const { return x1 - x0; }
    float height() const { return y1 - y0; }
    float middle_x() const { return (x0 + x1) / 2; }
    float middle_y() const { return (y0 + y1) / 2; }
    ImVec2 min() const { return {x0, y0}; }
    ImVec2 max() const { return {x1, y1}; }
    bool holds(ImVec2 p) const { return p.x >= x0 && p.x < x1 && p.y >= y0 && p.y < y1; }
    Rect inset(float x, float y) const { return {x0 + x, y0 + y, x1 - x, y1 - y}; }
    Rect moved(float dx, float dy) const { return {x0 + dx, y0 + dy, x1 + dx, y1 + dy}; }
};

enum class Align { left, centre, right };

/// A piece of a line: a formula is several of them on one baseline.
struct Span {
    std::string text;
    ImU32 colour = 0;
    Face face = Face::ui;
    float raise = 0;  // design pixels above the baseline; negative for subscripts
};

/// What the mouse does with a rectangle in this frame.
struct Touch {
    bool hovered = false, clicked = false, double_clicked = false, held = false;
    ImVec2 at;  // where the pointer is
};

class Ui {
public:
    Ui(Fonts& fonts_in, const Theme& theme_in, float scale) : fonts(&fonts_in), theme(&theme_in), scale_(scale) {}

    Fonts* fonts;
    const Theme* theme;
    ImDrawList* list = nullptr;  // instead of the current window's, for what is above everything

    /// Design pixels to window units; whole ones stay whole so that hairlines and text stay sharp.
    float px(float design) const;
    /// The cell of a matrix that the pointer is on, in this frame: what is shown about it is beside it.
    mutable Rect pointed;
    Pooling pooling = Pooling::largest;  // of matrices that do not say themselves
    /// Where everything above is written down as well; nullptr: nowhere.
    DrawRecorder* log = nullptr;
    Canvas draw() const { return {list ? *list : *ImGui::GetWindowDrawList(), log}; }

    float text_width(std::string_view text, Face face = Face::ui) const;
    /// One line whose capitals are centred on y; x is the left end, the centre or the right end.  Returns its width.
    float text(float x, float y, std::string_view text, ImU32 colour, Face face = Face::ui,
               Align align = Align::left) const;
    /// The longest beginning, of whole characters, that is at most `width` wide with `ending` after it.
    std::string_view fitting(std::string_view text, float width, Face face, std::string_view ending) const;
    /// Shortened with an ellipsis so that it is at most `width` wide.
    std::string cut(std::string_view text, float width, Face face = Face::ui) const;
    /// As text(), cut where it would be wider than `width`.
    float text_within(float x, float y, float width, std::string_view text, ImU32 colour, Face face = Face::ui,
                      Align align = Align::left) const;
    /// Several spans on the baseline of a line of `Face::ui` whose capitals are centred on y.  Returns their width.
    float spans(float x, float y, const std::vector<Span>& line) const;
    float spans_width(const std::vector<Span>& line) const;
    /// Lines of at most `width`, broken between words, and inside a word that is wider, if possible after . / or _
    std::vector<std::string> wrapped(std::string_view text, float width, Face face = Face::ui) const;
    /// Words wrapped to a width, from the top y down.  Returns the height.
    float paragraph(float x, float y, float width, std::string_view text, ImU32 colour, Face face = Face::ui) const;
    /// A line that runs upwards from (x, y), capitals centred on x.
    void text_upwards(float x, float y, std::string_view text, ImU32 colour, Face face) const;

    void fill(const Rect& rect, ImU32 colour, float rounding = 0) const;
    void outline(const Rect& rect, ImU32 colour, float thickness = 1, float rounding = 0) const;
    void hairline_across(float x0, float x1, float y) const;
    void hairline_down(float x, float y0, float y1) const;

    /// Places inside a group may have names that others have elsewhere: "layer/more", "head/more".
    class Group {
    public:
        Group(const Ui& ui, const char* id);
        ~Group();
        Group(const Group&) = delete;
        Group& operator=(const Group&) = delete;

    private:
        DrawRecorder* log_;
    };

    /// What is drawn meanwhile may be outside its clip: the wheel or a drag brings it into sight.
    class Scrolled {
    public:
        explicit Scrolled(const Ui& ui);
        ~Scrolled();
        Scrolled(const Scrolled&) = delete;
        Scrolled& operator=(const Scrolled&) = delete;

    private:
        DrawRecorder* log_;
    };

    /// How far what lies under the pointer is scrolled in this frame: a step of the wheel goes `step` units, and the
    /// right button pulls it along, as two fingers do on a touch screen.  `across`: it lies from left to right.
    static float scrolled_by(float step, bool across = false);
    /// Steps of the wheel in this frame, for a control under the pointer: what it lies on gets none of them.
    static float take_wheel();
    /// How far the right button pulls what lies under the pointer in this frame.
    static ImVec2 pulled();

    /// Gives a number on screen a name by which scripts read it: "microscope/sum".
    void note(const char* id, double value) const;

    /// Reacts to the mouse; `id` is unique on screen, or in its group.
    Touch touch(const char* id, const Rect& rect) const;
    /// A flat button with a border.  Returns true when clicked.
    bool button(const char* id, const Rect& rect, std::string_view label, bool chosen = false) const;
    /// "‹ 2 ›" with its right end at x; returns its left end.  `value` moves inside [low, high]; wheel and clicks.
    /// At least `area` wide between its arrows, so that they stay where they are while `shown` changes.
    float stepper(const char* id, float right, float y, std::string_view shown, Index& value, Index low, Index high,
                  float area = 0) const;
    /// "layer ‹ 2 › head ‹ 0 ›" with its right end at x; returns its left end.
    float layer_and_head(float right, float y, Index layers, Index& layer, Index heads, Index& head) const;
    /// Segments with one chosen, left end at x; returns the right end.
    float choice(const char* id, float x, float y, const std::vector<std::string>& labels, std::size_t& chosen) const;
    /// A line with a knob from x to x + width; drag or wheel.  Returns true when the value changed.
    bool slider(const char* id, float x, float y, float width, double& value, double low, double high,
                double step) const;

private:
    float scale_;
};

/// A line that is only a bound or a projection: dashes of `dash` design pixels and gaps as long, running on around
/// corners.
void draw_dashed(const Ui& ui, const std::vector<ImVec2>& corners, ImU32 colour, float width, float dash = 5);

/// The head of an arrow: two strokes back from `tip`, for a line that arrives in the direction (dx, dy).
void draw_arrow_head(const Ui& ui, ImVec2 tip, float dx, float dy, ImU32 colour, float width, float size = 6);

/// A triangle that means play (pointing right), or two bars that mean pause.
void draw_play_sign(const Ui& ui, ImVec2 middle, float size, bool playing, ImU32 colour);

/// A colour between two others, 0 ... 1.
ImU32 mixed(ImU32 from, ImU32 to, float share);

}  // namespace locus
