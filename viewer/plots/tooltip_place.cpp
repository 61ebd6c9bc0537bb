#include "viewer/plots/tooltip_place.h"

#include <algorithm>

namespace locus {

Corner tooltip_place(const Box& spoken_of, float width, float height, float screen_width, float screen_height,
                     float gap) {
    const auto inside = [](float at, float size, float room) { return std::max(0.0f, std::min(at, room - size)); };
    const float right = screen_width - spoken_of.x1, left = spoken_of.x0;
    const float below = screen_height - spoken_of.y1, above = spoken_of.y0;
    const float y = inside(spoken_of.y0, height, screen_height), x = inside(spoken_of.x0, width, screen_width);
    if (right >= width + gap) return {spoken_of.x1 + gap, y};
    if (left >= width + gap) return {spoken_of.x0 - gap - width, y};
    if (below >= height + gap) return {x, spoken_of.y1 + gap};
    if (above >= height + gap) return {x, spoken_of.y0 - gap - height};
    // Nowhere is there room: over the side with most of it.
    const float most = std::max({right, left, below, above});
    if (most == right) return {screen_width - width, y};
    if (most == left) return {0, y};
    return {x, most == below ? screen_height - height : 0};
}

}  // namespace locus
