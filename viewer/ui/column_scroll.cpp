#include "viewer/ui/column_scroll.h"

#include <algorithm>

namespace locus {

void scroll_by_wheel(const Ui& ui, const Rect& room, float& scrolled, float over) {
    const ImGuiIO& io = ImGui::GetIO();
    if (room.holds(io.MousePos) && ImGui::IsWindowHovered() && !ImGui::IsAnyItemHovered())
        scrolled -= io.MouseWheel * ui.px(48);
    scrolled = std::clamp(scrolled, 0.0f, std::max(0.0f, over));
}

}  // namespace locus
