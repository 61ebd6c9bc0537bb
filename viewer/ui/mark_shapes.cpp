#include "viewer/ui/mark_shapes.h"

#include <algorithm>

namespace locus {

namespace {

Corners around(const std::vector<ImVec2>& points, float margin) {
    Corners box{{1e9f, 1e9f}, {-1e9f, -1e9f}};
    for (const ImVec2 p : points)
        box = {{std::min(box.min.x, p.x - margin), std::min(box.min.y, p.y - margin)},
               {std::max(box.max.x, p.x + margin), std::max(box.max.y, p.y + margin)}};
    return box;
}

}  // namespace

Corners bounds(const LineMark& line) { return around(line.points, line.width); }
Corners bounds(const CurveMark& curve) {
    return around({curve.from, curve.first, curve.second, curve.to}, curve.width);
}
Corners bounds(const CircleMark& circle) { return around({circle.centre}, circle.radius + circle.width); }
Corners bounds(const SectorMark& sector) { return around({sector.centre}, sector.radius); }
Corners bounds(const PolygonMark& polygon) { return around(polygon.points, 0); }
Corners bounds(const RectMark& rect) { return rect.box; }
Corners bounds(const TextMark& text) { return text.box; }
Corners bounds(const ImageMark& image) { return image.box; }

bool cut_line(ImVec2& a, ImVec2& b, const Corners& clip) {
    const float dx = b.x - a.x, dy = b.y - a.y;
    float from = 0, to = 1;
    for (const auto& [step, room] :
         {std::pair{-dx, a.x - clip.min.x}, {dx, clip.max.x - a.x}, {-dy, a.y - clip.min.y}, {dy, clip.max.y - a.y}}) {
        if (step == 0 && room < 0) return false;
        if (step < 0) from = std::max(from, room / step);
        if (step > 0) to = std::min(to, room / step);
    }
    if (from > to) return false;
    const ImVec2 start = a;
    a = {start.x + from * dx, start.y + from * dy};
    b = {start.x + to * dx, start.y + to * dy};
    return true;
}

}  // namespace locus
