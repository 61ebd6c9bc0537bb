#include "viewer/automation/draw_recorder.h"

#include <algorithm>

namespace locus {

bool Corners::holds(const Corners& other) const {
    return other.min.x >= min.x && other.min.y >= min.y && other.max.x <= max.x && other.max.y <= max.y;
}

Corners Corners::common(const Corners& other) const {
    return {{std::max(min.x, other.min.x), std::max(min.y, other.min.y)},
            {std::min(max.x, other.max.x), std::min(max.y, other.max.y)}};
}

ImVec2 MatrixItem::centre_of(Index i, Index j) const {
    return {box.min.x + static_cast<float>((static_cast<double>(j) + 0.5 - first_j) * cell_width),
            box.min.y + static_cast<float>((static_cast<double>(i) + 0.5 - first_i) * cell_height)};
}

void DrawRecorder::clear() {
    marks.clear();
    items.clear();
    matrices.clear();
    values.clear();
    scrolled = 0;
    above = false;
    groups.clear();
}

std::string DrawRecorder::full_id(const std::string& id) const {
    std::string path;
    for (const std::string& group : groups) path += group + "/";
    return path + id;
}

namespace {

template <class Known>
const Known* named(const std::vector<Known>& all, const std::string& id) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Known& known) { return known.id == id; });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

const Item* DrawRecorder::item(const std::string& id) const { return named(items, id); }

const MatrixItem* DrawRecorder::matrix(const std::string& id) const { return named(matrices, id); }

const NamedValue* DrawRecorder::value(const std::string& id) const { return named(values, id); }

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
    for (const auto& [step, area] :
         {std::pair{-dx, a.x - clip.min.x}, {dx, clip.max.x - a.x}, {-dy, a.y - clip.min.y}, {dy, clip.max.y - a.y}}) {
        if (step == 0 && area < 0) return false;
        if (step < 0) from = std::max(from, area / step);
        if (step > 0) to = std::min(to, area / step);
    }
    if (from > to) return false;
    const ImVec2 start = a;
    a = {start.x + from * dx, start.y + from * dy};
    b = {start.x + to * dx, start.y + to * dy};
    return true;
}

}  // namespace locus
