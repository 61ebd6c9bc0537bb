#include "viewer/ui/canvas.h"

#include <cmath>

namespace locus {

template <class Shape>
void Canvas::note(Shape&& shape, ImU32 colour) {
    if (log_) log_->marks.push_back({std::forward<Shape>(shape), colour, clip(), log_->scrolled > 0, log_->above});
}

Corners Canvas::clip() const { return {list_.GetClipRectMin(), list_.GetClipRectMax()}; }

void Canvas::push_clip(ImVec2 min, ImVec2 max) { list_.PushClipRect(min, max, true); }

void Canvas::pop_clip() { list_.PopClipRect(); }

/// True if the way from b to c leads back from that of a to b: more than a right angle.
static bool turns_back(ImVec2 a, ImVec2 b, ImVec2 c) {
    return (b.x - a.x) * (c.x - b.x) + (b.y - a.y) * (c.y - b.y) < 0;
}

void Canvas::line(ImVec2 from, ImVec2 to, ImU32 colour, float width) {
    list_.AddLine(from, to, colour, width);
    note(LineMark{{from, to}, width}, colour);
}

void Canvas::polyline(const ImVec2* points, int count, ImU32 colour, float width) {
    // Dear ImGui thins a line to nothing around a corner of nearly 180 degrees, along its whole segments: there a new
    // line begins.
    int first = 0;
    for (int n = 1; n < count; ++n) {
        const bool last = n + 1 == count;
        if (!last && !turns_back(points[n - 1], points[n], points[n + 1])) continue;
        list_.AddPolyline(points + first, n + 1 - first, colour, 0, width);
        first = n;
    }
    if (log_) note(LineMark{{points, points + count}, width}, colour);
}

void Canvas::curve(ImVec2 from, ImVec2 first, ImVec2 second, ImVec2 to, ImU32 colour, float width) {
    list_.AddBezierCubic(from, first, second, to, colour, width);
    note(CurveMark{from, first, second, to, width}, colour);
}

void Canvas::circle(ImVec2 centre, float radius, ImU32 colour, float width) {
    list_.AddCircle(centre, radius, colour, 0, width);
    note(CircleMark{centre, radius, width}, colour);
}

void Canvas::disc(ImVec2 centre, float radius, ImU32 colour) {
    list_.AddCircleFilled(centre, radius, colour);
    note(CircleMark{centre, radius, 0}, colour);
}

void Canvas::sector(ImVec2 centre, float radius, float from, float to, ImU32 colour) {
    list_.PathLineTo(centre);
    list_.PathArcTo(centre, radius, from, to, 32);
    list_.PathFillConvex(colour);
    note(SectorMark{centre, radius, from, to}, colour);
}

void Canvas::triangle(ImVec2 a, ImVec2 b, ImVec2 c, ImU32 colour) {
    list_.AddTriangleFilled(a, b, c, colour);
    if (log_) note(PolygonMark{{a, b, c}}, colour);
}

void Canvas::fill(ImVec2 min, ImVec2 max, ImU32 colour, float rounding, ImDrawFlags corners) {
    list_.AddRectFilled(min, max, colour, rounding, corners);
    note(RectMark{{min, max}, 0, rounding, corners}, colour);
}

void Canvas::outline(ImVec2 min, ImVec2 max, ImU32 colour, float rounding, float width) {
    list_.AddRect(min, max, colour, rounding, 0, width);
    note(RectMark{{min, max}, width, rounding, 0}, colour);
}

void Canvas::image(ImTextureID texture, ImVec2 min, ImVec2 max) { list_.AddImage(texture, min, max); }

void Canvas::note_image(ImVec2 min, ImVec2 max, ImVec2 uv_min, ImVec2 uv_max, const void* source) {
    note(ImageMark{{min, max}, uv_min, uv_max, source}, IM_COL32_WHITE);
}

void Canvas::text(const Fonts& fonts, Face face, ImVec2 at, ImU32 colour, std::string_view text) {
    const float size = fonts.size(face);
    fonts.draw(list_, face, at, colour, text);
    if (!log_ || text.empty()) return;
    const ImVec2 extent{fonts.width(face, text), size};
    const ImVec2 baseline{at.x, at.y + fonts.ascent(face)};
    note(TextMark{std::string(text), {at, {at.x + extent.x, at.y + extent.y}}, baseline, size, face, false}, colour);
}

void Canvas::text_upwards(const Fonts& fonts, Face face, ImVec2 at, ImU32 colour, std::string_view text) {
    // Drawn level, then every corner is rotated by a quarter turn: (dx, dy) -> (dy, -dx).
    const float size = fonts.size(face);
    const float middle = std::floor(fonts.ascent(face) - fonts.cap_height(face) / 2 + 0.5f);
    const int first = list_.VtxBuffer.Size;
    // A clip rectangle would cut the level text before it is rotated, so there is none around this call.
    fonts.draw(list_, face, at, colour, text);
    for (int n = first; n < list_.VtxBuffer.Size; ++n) {
        ImVec2& corner = list_.VtxBuffer[n].pos;
        const ImVec2 from{corner.x - at.x, corner.y - at.y};
        corner = {at.x + from.y - middle, at.y - from.x};
    }
    if (!log_ || text.empty()) return;
    const ImVec2 extent{fonts.width(face, text), size};
    const Corners box{{at.x - middle, at.y - extent.x}, {at.x - middle + extent.y, at.y}};
    const ImVec2 baseline{at.x - middle + fonts.ascent(face), at.y};
    note(TextMark{std::string(text), box, baseline, size, face, true}, colour);
}

}  // namespace locus
