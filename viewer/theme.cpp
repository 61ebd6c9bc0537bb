#include "viewer/theme.h"

#include <imgui_freetype.h>

#include <filesystem>
#include <initializer_list>

namespace locus::view {

namespace {

constexpr ImU32 rgb(unsigned hex) { return IM_COL32((hex >> 16) & 255, (hex >> 8) & 255, hex & 255, 255); }

Fonts loaded;
float ui_scale = 1;
std::string covered;             // characters beyond the fixed ranges, as they were asked for
ImVector<ImWchar> glyph_ranges;  // must outlive the atlas

// Latin, Greek, sub- and superscripts, arrows, mathematics, blocks: what pages and formulas use.
constexpr ImWchar kRanges[] = {0x20,   0x17f,  0x391,  0x3c9,  0x1d40, 0x1dbf, 0x2010, 0x2027, 0x2030,
                               0x205f, 0x2070, 0x209f, 0x2190, 0x21ff, 0x2200, 0x22ff, 0x2308, 0x230b,
                               0x2500, 0x25ff, 0x2713, 0x2717, 0x27e8, 0x27e9, 0};

std::string first_existing(std::initializer_list<const char*> files) {
    for (const char* file : files)
        if (std::filesystem::exists(file)) return file;
    return "";
}

ImFont* add_font(const std::string& file, float size, const std::string& cjk, const std::string& symbols) {
    ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    ImFontConfig config;
    config.OversampleH = config.OversampleV = 1;
    ImFont* font =
        file.empty() ? atlas.AddFontDefault() : atlas.AddFontFromFileTTF(file.c_str(), size, &config, kRanges);
    config.MergeMode = true;
    if (!symbols.empty() && symbols != file) atlas.AddFontFromFileTTF(symbols.c_str(), size, &config, kRanges);
    config.FontNo = 1;  // the Korean face of the collection
    if (!cjk.empty()) atlas.AddFontFromFileTTF(cjk.c_str(), size, &config, glyph_ranges.Data);
    return font;
}

}  // namespace

const Palette& palette(bool dark) {
    static const Palette kDark = {rgb(0x0f1218), rgb(0x151922), rgb(0x262c3a), rgb(0xe7eaf1), rgb(0x8f98ad),
                                  rgb(0x4f8ff7), rgb(0x5fa8f5), rgb(0xf2a64a), rgb(0x45c297), true};
    static const Palette kLight = {rgb(0xf6f7f9), rgb(0xffffff), rgb(0xdfe3ea), rgb(0x1a1f2b), rgb(0x69728a),
                                   rgb(0x2563eb), rgb(0x1f6fd1), rgb(0xc26a00), rgb(0x0b8a63), false};
    return dark ? kDark : kLight;
}

ImU32 with_alpha(ImU32 colour, float alpha) {
    return (colour & ~IM_COL32_A_MASK) | (static_cast<ImU32>(alpha * 255.0F + 0.5F) << IM_COL32_A_SHIFT);
}

const Fonts& fonts() { return loaded; }
void set_scale(float scale) { ui_scale = scale; }
float px(float units) { return units * ui_scale; }

bool fonts_cover(const std::string& text) {
    ImFontGlyphRangesBuilder known, wanted;
    known.AddRanges(kRanges);
    known.AddText(covered.c_str());
    wanted.AddText(text.c_str());
    for (int n = 0; n < wanted.UsedChars.Size; ++n)
        if (wanted.UsedChars[n] & ~known.UsedChars[n]) return false;
    return true;
}

void load_fonts(float scale, const std::string& extra) {
    covered += extra;
    ImFontGlyphRangesBuilder builder;
    builder.AddText(covered.c_str());
    builder.AddText("\u25a1");
    glyph_ranges.clear();
    builder.BuildRanges(&glyph_ranges);

    ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
    atlas.Clear();
#if IMGUI_VERSION_NUM < 19200
    atlas.FontBuilderIO = ImGuiFreeType::GetBuilderForFreeType();
    atlas.FontBuilderFlags = ImGuiFreeTypeBuilderFlags_LightHinting;
#endif
    const std::string inter = first_existing(
        {"/usr/share/fonts/opentype/inter/Inter-Regular.otf", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"});
    const std::string semibold = first_existing(
        {"/usr/share/fonts/opentype/inter/Inter-SemiBold.otf", "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"});
    const std::string mono = first_existing({"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
                                             "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"});
    const std::string cjk = first_existing({"/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"});
    // ImGui counts from the highest ascender to the lowest descender, the drawings in em.
    constexpr float kInterLine = 1.21F, kMonoLine = 1.32F;
    loaded.regular = add_font(inter, 13.5F * kInterLine * scale, cjk, mono);
    loaded.semibold = add_font(semibold, 13 * kInterLine * scale, cjk, mono);
    loaded.mono = add_font(mono, 12.5F * kMonoLine * scale, cjk, inter);
    loaded.small = add_font(mono, 10.5F * kMonoLine * scale, cjk, inter);
    atlas.Build();
}

void apply_style(bool dark) {
    const Palette& colours = palette(dark);
    ImGuiStyle& style = ImGui::GetStyle();
    style = ImGuiStyle();
    style.WindowPadding = style.ItemSpacing = ImVec2(0, 0);
    style.WindowBorderSize = 0;
    style.FrameRounding = style.GrabRounding = style.PopupRounding = px(5);
    style.FramePadding = ImVec2(px(8), px(4));
    style.FrameBorderSize = 1;
    style.ScrollbarSize = px(10);
    const auto set = [&](ImGuiCol slot, ImU32 colour) { style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(colour); };
    set(ImGuiCol_WindowBg, colours.background);
    set(ImGuiCol_ChildBg, 0);
    set(ImGuiCol_PopupBg, colours.panel);
    set(ImGuiCol_Border, colours.line);
    set(ImGuiCol_Text, colours.text);
    set(ImGuiCol_TextDisabled, colours.muted);
    for (const ImGuiCol slot : {ImGuiCol_FrameBg, ImGuiCol_Button}) set(slot, colours.panel);
    for (const ImGuiCol slot : {ImGuiCol_FrameBgHovered, ImGuiCol_FrameBgActive, ImGuiCol_ButtonHovered,
                                ImGuiCol_ButtonActive, ImGuiCol_HeaderHovered, ImGuiCol_HeaderActive, ImGuiCol_Header})
        set(slot, with_alpha(colours.accent, 0.18F));
    for (const ImGuiCol slot :
         {ImGuiCol_SliderGrab, ImGuiCol_SliderGrabActive, ImGuiCol_CheckMark, ImGuiCol_NavHighlight})
        set(slot, colours.accent);
    set(ImGuiCol_TextSelectedBg, with_alpha(colours.accent, 0.35F));
    set(ImGuiCol_ScrollbarBg, 0);
    set(ImGuiCol_ScrollbarGrab, colours.line);
}

}  // namespace locus::view
