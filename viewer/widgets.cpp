#include "viewer/widgets.h"

#include <algorithm>
#include <cmath>

namespace locus::view {

namespace {

constexpr float kIndexScale = 0.74F;  // size of sub- and superscripts

/// Visits the pieces of a run: text and -1 below, 0 on, +1 above the line.
template <class Visit>
void for_each_piece(const std::string& text, Visit visit) {
    std::size_t from = 0;
    while (from < text.size()) {
        std::size_t mark = from;
        while (mark < text.size() &&
               !((text[mark] == '_' || text[mark] == '^') && mark + 1 < text.size() && text[mark + 1] == '{'))
            ++mark;
        if (mark > from) visit(text.substr(from, mark - from), 0);
        if (mark == text.size()) return;
        const std::size_t end = std::min(text.find('}', mark), text.size());
        visit(text.substr(mark + 2, end - mark - 2), text[mark] == '_' ? -1 : 1);
        from = std::min(end + 1, text.size());
    }
}

float piece_width(const std::string& text, int level, const ImFont* font) {
    return font->CalcTextSizeA(font->FontSize * (level ? kIndexScale : 1), 1e9F, 0, text.c_str()).x;
}

float line_height() { return px(23); }

ImDrawList& draw_list() { return *ImGui::GetWindowDrawList(); }

}  // namespace

float width_of_runs(const std::vector<TextRun>& runs, ImFont* font) {
    float width = 0;
    for (const TextRun& run : runs)
        for_each_piece(run.text, [&](const std::string& text, int level) { width += piece_width(text, level, font); });
    return width;
}

float draw_runs(ImVec2 corner, const std::vector<TextRun>& runs, ImFont* font) {
    float x = corner.x;
    for (const TextRun& run : runs)
        for_each_piece(run.text, [&](const std::string& text, int level) {
            const float size = font->FontSize * (level ? kIndexScale : 1);
            const float y = corner.y + (level < 0 ? font->FontSize * 0.42F : level > 0 ? -font->FontSize * 0.12F : 0);
            draw_list().AddText(font, size, {x, y}, run.colour, text.c_str());
            x += piece_width(text, level, font);
        });
    return x - corner.x;
}

float text_width(const std::string& text, ImFont* font) { return piece_width(text, 0, font); }

void draw_text(ImVec2 corner, const std::string& text, ImU32 colour, ImFont* font) {
    draw_list().AddText(font, font->FontSize, {std::floor(corner.x), std::floor(corner.y)}, colour, text.c_str());
}

void draw_text_right(float right, float top, const std::string& text, ImU32 colour, ImFont* font) {
    draw_text({right - text_width(text, font), top}, text, colour, font);
}

std::string fitted(const std::string& text, float width, ImFont* font) {
    if (text_width(text, font) <= width) return text;
    std::string shorter = text;
    while (!shorter.empty() && text_width(shorter + "\u2026", font) > width) {
        do shorter.pop_back();
        while (!shorter.empty() && (static_cast<unsigned char>(shorter.back()) & 0xc0) == 0x80);
        // A lead byte without its followers is half a character.
        if (!shorter.empty() && (static_cast<unsigned char>(shorter.back()) & 0xc0) == 0xc0) shorter.pop_back();
    }
    return shorter + "\u2026";
}

float draw_wrapped(ImVec2 corner, float width, const std::string& text, ImU32 colour) {
    ImFont* font = fonts().regular;
    draw_list().AddText(font, font->FontSize, corner, colour, text.c_str(), nullptr, width);
    return font->CalcTextSizeA(font->FontSize, 1e9F, width, text.c_str()).y;
}

bool chip(const char* id, ImVec2 corner, float height, const std::string& text, ImU32 text_colour, ImU32 outline,
          float& width, const Palette& colours) {
    ImFont* font = fonts().regular;
    width = std::max(text_width(text, font) + px(14), px(25));
    ImGui::SetCursorScreenPos(corner);
    const bool pressed = ImGui::InvisibleButton(id, {width, height});
    const ImVec2 far_corner = {corner.x + width, corner.y + height};
    draw_list().AddRectFilled(corner, far_corner,
                              colours.dark ? with_alpha(colours.line, 0.75F) : with_alpha(colours.line, 0.65F), px(5));
    if (outline)
        draw_list().AddRect(corner, far_corner, outline, px(5), 0, std::max(1.5F, px(1.75F)));
    else if (ImGui::IsItemHovered())
        draw_list().AddRect(corner, far_corner, colours.muted, px(5));
    draw_text({corner.x + (width - text_width(text, font)) / 2, corner.y + (height - font->FontSize) / 2}, text,
              text_colour, font);
    return pressed;
}

bool stepper(const char* id, ImVec2 corner, float height, int& value, int low, int high, float& width,
             const Palette& colours) {
    width = px(60);
    const ImVec2 far_corner = {corner.x + width, corner.y + height};
    draw_list().AddRectFilled(corner, far_corner, colours.dark ? colours.background : colours.panel, px(5));
    draw_list().AddRect(corner, far_corner, colours.line, px(5));
    const int before = value;
    ImGui::PushID(id);
    for (const int direction : {-1, 1}) {
        const float left = direction < 0 ? corner.x : far_corner.x - px(22);
        ImGui::SetCursorScreenPos({left, corner.y});
        if (ImGui::InvisibleButton(direction < 0 ? "less" : "more", {px(22), height}))
            value = std::clamp(value + direction, low, high);
        const bool possible = direction < 0 ? value > low : value < high;
        draw_text({left + px(8), corner.y + (height - fonts().mono->FontSize) / 2}, direction < 0 ? "\u2039" : "\u203a",
                  ImGui::IsItemHovered() ? colours.text
                  : possible             ? colours.muted
                                         : with_alpha(colours.muted, 0.4F),
                  fonts().mono);
    }
    ImGui::PopID();
    const std::string text = std::to_string(value);
    draw_text(
        {corner.x + (width - text_width(text, fonts().mono)) / 2, corner.y + (height - fonts().mono->FontSize) / 2},
        text, colours.text, fonts().mono);
    return value != before;
}

bool segmented(const char* id, ImVec2 corner, float height, const std::vector<std::string>& labels, int& chosen,
               float& width, const Palette& colours) {
    ImFont* font = fonts().regular;
    width = 0;
    for (const std::string& label : labels) width += text_width(label, font) + px(20);
    const ImVec2 far_corner = {corner.x + width, corner.y + height};
    draw_list().AddRectFilled(corner, far_corner, colours.dark ? colours.background : colours.panel, px(5));
    const int before = chosen;
    float x = corner.x;
    ImGui::PushID(id);
    for (int n = 0; n < static_cast<int>(labels.size()); ++n) {
        const float part = text_width(labels[static_cast<std::size_t>(n)], font) + px(20);
        ImGui::SetCursorScreenPos({x, corner.y});
        if (ImGui::InvisibleButton(labels[static_cast<std::size_t>(n)].c_str(), {part, height})) chosen = n;
        if (n == chosen) draw_list().AddRectFilled({x, corner.y}, {x + part, far_corner.y}, colours.accent, px(5));
        draw_text({x + px(10), corner.y + (height - font->FontSize) / 2}, labels[static_cast<std::size_t>(n)],
                  n == chosen ? IM_COL32_WHITE : colours.text, font);
        x += part;
    }
    ImGui::PopID();
    draw_list().AddRect(corner, far_corner, colours.line, px(5));
    return chosen != before;
}

bool labelled_slider(const char* id, ImVec2 corner, float width, const char* label, int& value, int low, int high,
                     const Palette& colours) {
    const std::string text = std::to_string(value);
    draw_text(corner, label, colours.muted, fonts().regular);
    draw_text_right(corner.x + width, corner.y, text, colours.text, fonts().mono);
    ImGui::SetCursorScreenPos({corner.x, corner.y + px(20)});
    ImGui::InvisibleButton(id, {width, px(16)});
    const float y = corner.y + px(28),
                share = high > low ? static_cast<float>(value - low) / static_cast<float>(high - low) : 0;
    draw_list().AddLine({corner.x, y}, {corner.x + width, y}, colours.line, px(3));
    draw_list().AddLine({corner.x, y}, {corner.x + width * share, y}, colours.accent, px(3));
    draw_list().AddCircleFilled({corner.x + width * share, y}, px(6),
                                ImGui::IsItemHovered() || ImGui::IsItemActive() ? colours.text : colours.accent);
    if (!ImGui::IsItemActive()) return false;
    const int before = value;
    const float place = std::clamp((ImGui::GetIO().MousePos.x - corner.x) / width, 0.0F, 1.0F);
    value = low + static_cast<int>(std::lround(place * static_cast<float>(high - low)));
    return value != before;
}

void Column::title(const std::string& text, const std::string& aside) {
    draw_text(corner_, text, colours_.text, fonts().semibold);
    draw_text_right(corner_.x + width_, corner_.y + px(1), aside, colours_.muted, fonts().small);
    corner_.y += line_height() + px(2);
}

void Column::row(const std::vector<TextRun>& label, const std::string& value, bool strong) {
    draw_runs(corner_, label, fonts().regular);
    draw_text_right(corner_.x + width_, corner_.y + px(1), value, colours_.text, fonts().mono);
    if (strong) draw_text_right(corner_.x + width_ + px(0.6F), corner_.y + px(1), value, colours_.text, fonts().mono);
    corner_.y += line_height();
}

void Column::bar(const std::vector<TextRun>& label, float label_width, double share, ImU32 colour,
                 const std::string& value) {
    draw_runs(corner_, label, fonts().regular);
    const float left = corner_.x + px(label_width), room = width_ - px(label_width) - px(84);
    const float length = std::max(px(2), room * static_cast<float>(std::clamp(share, 0.0, 1.0)));
    draw_list().AddRectFilled({left, corner_.y + px(4)}, {left + length, corner_.y + px(13)}, colour, px(2));
    draw_text_right(corner_.x + width_, corner_.y + px(1), value, colours_.text, fonts().mono);
    corner_.y += line_height();
}

void Column::paragraph(const std::string& text) {
    corner_.y += draw_wrapped(corner_, width_, text, colours_.muted) + px(8);
}

void Column::rule() {
    corner_.y += px(6);
    draw_list().AddLine(corner_, {corner_.x + width_, corner_.y}, colours_.line);
    corner_.y += px(12);
}

}  // namespace locus::view
