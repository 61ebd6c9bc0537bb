#include "viewer/ui/line_styles.h"

#include <cmath>

namespace locus {

void draw_dashed(const Ui& ui, const std::vector<ImVec2>& corners, ImU32 colour, float width, float dash) {
    const float length = ui.px(dash);
    float left = length;  // of the dash or gap that is being drawn
    bool on = true;
    for (std::size_t n = 1; n < corners.size(); ++n) {
        ImVec2 from = corners[n - 1];
        const ImVec2 to = corners[n];
        float rest = std::hypot(to.x - from.x, to.y - from.y);
        while (rest > 0) {
            const float step = std::min(rest, left), share = step / rest;
            const ImVec2 end{from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share};
            if (on) ui.draw().line(from, end, colour, width);
            from = end;
            rest -= step;
            left -= step;
            if (left <= 0) {
                left = length;
                on = !on;
            }
        }
    }
}

void draw_arrow_head(const Ui& ui, ImVec2 tip, float dx, float dy, ImU32 colour, float width, float size) {
    const float length = std::hypot(dx, dy), head = ui.px(size);
    if (length == 0) return;
    const float ux = dx / length, uy = dy / length;
    const ImVec2 points[] = {{tip.x - ux * head - uy * head * 0.5f, tip.y - uy * head + ux * head * 0.5f},
                             tip,
                             {tip.x - ux * head + uy * head * 0.5f, tip.y - uy * head - ux * head * 0.5f}};
    ui.draw().polyline(points, 3, colour, width);
}

void draw_play_sign(const Ui& ui, ImVec2 middle, float size, bool playing, ImU32 colour) {
    const float half = size / 2;
    if (playing) {
        const float bar = std::max(1.0f, size * 0.3f);
        ui.fill({middle.x - half, middle.y - half, middle.x - half + bar, middle.y + half}, colour);
        ui.fill({middle.x + half - bar, middle.y - half, middle.x + half, middle.y + half}, colour);
    } else {
        ui.draw().triangle({middle.x - half * 0.8f, middle.y - half}, {middle.x + half, middle.y},
                           {middle.x - half * 0.8f, middle.y + half}, colour);
    }
}

ImU32 mixed(ImU32 from, ImU32 to, float share) {
    ImU32 colour = 0;
    for (const int shift : {IM_COL32_R_SHIFT, IM_COL32_G_SHIFT, IM_COL32_B_SHIFT, IM_COL32_A_SHIFT}) {
        const auto a = static_cast<float>(from >> shift & 0xffu), b = static_cast<float>(to >> shift & 0xffu);
        colour |= static_cast<ImU32>(a + (b - a) * share + 0.5f) << shift;
    }
    return colour;
}

}  // namespace locus
