#pragma once
// Everything on screen is drawn through this class: it calls Dear ImGui and, where a frame is recorded, the recorder.
#include "viewer/automation/draw_recorder.h"

namespace locus {

class Canvas {
public:
    Canvas(ImDrawList& list, DrawRecorder* log) : list_(list), log_(log) {}

    void line(ImVec2 from, ImVec2 to, ImU32 colour, float width);
    void polyline(const ImVec2* points, int count, ImU32 colour, float width);
    void curve(ImVec2 from, ImVec2 first, ImVec2 second, ImVec2 to, ImU32 colour, float width);
    void circle(ImVec2 centre, float radius, ImU32 colour, float width);
    void disc(ImVec2 centre, float radius, ImU32 colour);
    /// Angles in radians, clockwise from the right.
    void sector(ImVec2 centre, float radius, float from, float to, ImU32 colour);
    void triangle(ImVec2 a, ImVec2 b, ImVec2 c, ImU32 colour);
    void fill(ImVec2 min, ImVec2 max, ImU32 colour, float rounding = 0, ImDrawFlags corners = 0);
    void outline(ImVec2 min, ImVec2 max, ImU32 colour, float rounding, float width);
    /// A whole texture.  Not written down: note_image says what several of them show together.
    void image(ImTextureID texture, ImVec2 min, ImVec2 max);
    /// Draws nothing: writes down that the images inside the box are one picture, the part uv_min ... uv_max (in 0 ...
    /// 1) of `source`.
    void note_image(ImVec2 min, ImVec2 max, ImVec2 uv_min, ImVec2 uv_max, const void* source);
    /// `at` is the upper left corner of the level line.
    void text(const Fonts& fonts, Face face, ImVec2 at, ImU32 colour, std::string_view text);
    /// Runs upwards from `at`, capitals centred on at.x.
    void text_upwards(const Fonts& fonts, Face face, ImVec2 at, ImU32 colour, std::string_view text);

    void push_clip(ImVec2 min, ImVec2 max);
    void pop_clip();
    /// What is seen at present.
    Corners clip() const;

private:
    template <class Shape>
    void note(Shape&& shape, ImU32 colour);

    ImDrawList& list_;
    DrawRecorder* log_;
};

}  // namespace locus
