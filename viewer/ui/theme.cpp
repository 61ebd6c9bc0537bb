#include "viewer/ui/theme.h"

#include "viewer/plots/colour_map.h"

namespace locus {

namespace {

Theme make_theme(ThemeName name) {
    const ThemeColours& c = theme_colours(name);
    return {name,
            to_colour(c.background),
            to_colour(c.panel),
            to_colour(c.line),
            to_colour(c.text),
            to_colour(c.muted),
            to_colour(c.accent),
            to_colour(c.c2c),
            to_colour(c.c2p),
            to_colour(c.p2c),
            to_colour(c.p2p),
            to_colour(c.chip),
            to_colour(c.on_accent),
            to_colour(c.fault),
            c.hidden};
}

}  // namespace

const Theme& theme_of(ThemeName name) {
    static const Theme dark = make_theme(ThemeName::dark), light = make_theme(ThemeName::light),
                       contrast = make_theme(ThemeName::contrast);
    return name == ThemeName::light ? light : name == ThemeName::contrast ? contrast : dark;
}

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
