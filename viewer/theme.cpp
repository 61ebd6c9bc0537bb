#include "viewer/theme.h"

namespace locus {

namespace {

constexpr ImU32 hex(unsigned rgb) { return IM_COL32((rgb >> 16) & 255u, (rgb >> 8) & 255u, rgb & 255u, 255u); }

constexpr Theme kDark{ThemeName::dark, hex(0x0f1218), hex(0x151922), hex(0x262c3a), hex(0xe7eaf1),
                      hex(0x8f98ad),   hex(0x4f8ff7), hex(0x5fa8f5), hex(0xf2a64a), hex(0x45c297),
                      hex(0xc78fe0),   hex(0x1f2531), hex(0xffffff), hex(0xf2777a), Rgb{0x1c, 0x20, 0x2a}};
constexpr Theme kLight{ThemeName::light, hex(0xf6f7f9), hex(0xffffff), hex(0xdfe3ea), hex(0x1a1f2b),
                       hex(0x69728a),    hex(0x2563eb), hex(0x1f6fd1), hex(0xc26a00), hex(0x0b8a63),
                       hex(0x8a4bb0),    hex(0xebedf2), hex(0xffffff), hex(0xc0232c), Rgb{0xec, 0xee, 0xf2}};

}  // namespace

const Theme& theme_of(ThemeName name) { return name == ThemeName::dark ? kDark : kLight; }

ImU32 faded(ImU32 colour, float share) {
    const auto alpha = static_cast<ImU32>(static_cast<float>(colour >> IM_COL32_A_SHIFT & 0xffu) * share + 0.5f);
    return (colour & ~IM_COL32_A_MASK) | alpha << IM_COL32_A_SHIFT;
}

ImU32 to_colour(Rgb rgb) { return IM_COL32(rgb.r, rgb.g, rgb.b, 255); }

void apply_theme(const Theme& theme, float scale) {
    ImGuiStyle style;
    style.WindowPadding = {10, 8};
    style.FramePadding = {10, 5};
    style.FrameRounding = 5;
    style.PopupRounding = 6;
    style.GrabRounding = 5;
    style.GrabMinSize = 10;
    style.WindowBorderSize = 0;
    style.PopupBorderSize = 1;
    style.FrameBorderSize = 1;
    style.ScaleAllSizes(scale);
    const auto set = [&](ImGuiCol slot, ImU32 colour) { style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(colour); };
    set(ImGuiCol_Text, theme.text);
    set(ImGuiCol_TextDisabled, theme.muted);
    set(ImGuiCol_WindowBg, theme.background);
    set(ImGuiCol_PopupBg, theme.panel);
    set(ImGuiCol_Border, theme.line);
    set(ImGuiCol_FrameBg, theme.panel);
    set(ImGuiCol_FrameBgHovered, theme.panel);
    set(ImGuiCol_FrameBgActive, theme.panel);
    set(ImGuiCol_TextSelectedBg, faded(theme.accent, 0.35f));
    set(ImGuiCol_NavHighlight, IM_COL32_BLACK_TRANS);
    ImGui::GetStyle() = style;
}

}  // namespace locus
