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

}  // namespace locus
