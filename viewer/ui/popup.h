#pragma once
// A list that opens below a box: of stages, models, formulas.
#include <algorithm>

#include "viewer/ui/ui.h"

namespace locus {

inline bool is_escape_pressed() {
#if IMGUI_VERSION_NUM < 18700
    return ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape));
#else
    return ImGui::IsKeyPressed(ImGuiKey_Escape);
#endif
}

/// The popup `id` (ImGui::OpenPopup), below the box and inside the window, in the viewer's own colours; its entries are
/// drawn by `fill`.  Escape closes it.
template <class Fill>
void draw_popup(const Ui& ui, const char* id, const Rect& box, float widest, Face face, Fill&& fill) {
    // What hangs at the right of the window grows to the left.
    const bool right = box.x0 + widest > ImGui::GetIO().DisplaySize.x;
    ImGui::SetNextWindowPos({right ? box.x1 : box.x0, box.y1 + ui.px(4)}, ImGuiCond_Always, {right ? 1.0f : 0.0f, 0});
    ImGui::SetNextWindowSizeConstraints({std::max(box.width(), ui.px(120)), 0}, {widest, ui.px(420)});
    for (const ImGuiCol each : {ImGuiCol_Header, ImGuiCol_HeaderHovered, ImGuiCol_HeaderActive})
        ImGui::PushStyleColor(each, ui.theme->chip);
    ImGui::PushFont(ui.fonts->font(face));
    if (ImGui::BeginPopup(id)) {
        fill();
        if (is_escape_pressed()) ImGui::CloseCurrentPopup();
        ImGui::EndPopup();
    }
    ImGui::PopFont();
    ImGui::PopStyleColor(3);
}

/// Then Escape is the popup's.
inline bool is_popup_open() {
    return ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
}

}  // namespace locus
