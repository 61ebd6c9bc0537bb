#include "viewer/ui/ui.h"

#include <cmath>

namespace locus {

namespace {

constexpr const char* kEllipsis = "\u2026";

/// Whole window units: text between pixels is blurred.
ImVec2 snapped(float x, float y) { return {std::floor(x + 0.5f), std::floor(y + 0.5f)}; }

/// Shortens by one UTF-8 character.
void drop_last(std::string& text) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
}

}  // namespace

float Ui::px(float design) const {
    return design != std::floor(design) ? design * scale_ : std::max(1.0f, std::floor(design * scale_ + 0.5f));
}

float Ui::text_width(std::string_view text, Face face) const {
    fonts->require(text);
    return fonts->width(face, text);
}

float Ui::text(float x, float y, std::string_view text, ImU32 colour, Face face, Align align) const {
    const float width = text_width(text, face);
    if (align == Align::centre) x -= width / 2;
    if (align == Align::right) x -= width;
    const float top = y + fonts->cap_height(face) / 2 - fonts->ascent(face);
    draw().text(*fonts, face, snapped(x, top), colour, text);
    return width;
}

std::string Ui::cut(std::string_view full, float width, Face face) const {
    std::string shorter(full);
    if (text_width(full, face) <= width) return shorter;
    while (!shorter.empty() && text_width(shorter + kEllipsis, face) > width) drop_last(shorter);
    return shorter + kEllipsis;
}

float Ui::text_within(float x, float y, float width, std::string_view full, ImU32 colour, Face face,
                      Align align) const {
    return text(x, y, cut(full, width, face), colour, face, align);
}

float Ui::spans_width(const std::vector<Span>& line) const {
    float width = 0;
    for (const Span& span : line) width += text_width(span.text, span.face);
    return width;
}

float Ui::spans(float x, float y, const std::vector<Span>& line) const {
    const float left = x;
    const float baseline = y + fonts->cap_height(Face::ui) / 2;
    for (const Span& span : line) {
        const float raise = span.raise < 0 ? -px(-span.raise) : span.raise > 0 ? px(span.raise) : 0;
        const float top = baseline - raise - fonts->ascent(span.face);
        const float width = text_width(span.text, span.face);
        draw().text(*fonts, span.face, snapped(x, top), span.colour, span.text);
        x += width;
    }
    return x - left;
}

std::vector<std::string> Ui::wrapped(std::string_view text, float width, Face face) const {
    std::vector<std::string> lines;
    std::string line;
    const auto flush = [&] {
        lines.push_back(line);
        line.clear();
    };
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        std::string word(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
        if (!line.empty() && text_width(line + " " + word, face) > width) flush();
        while (line.empty() && text_width(word, face) > width) {
            std::string part = word;
            while (part.size() > 1 && text_width(part, face) > width) drop_last(part);
            if (part.empty() || part == word) break;
            lines.push_back(part);
            word.erase(0, part.size());
        }
        line += line.empty() ? word : " " + word;
    }
    if (!line.empty()) flush();
    return lines;
}

float Ui::paragraph(float x, float y, float width, std::string_view text, ImU32 colour, Face face) const {
    const float pitch = std::floor(fonts->size(face) * 1.18f);
    const float top = y;
    for (const std::string& line : wrapped(text, width, face)) {
        this->text(x, y + pitch / 2, line, colour, face);
        y += pitch;
    }
    return y - top;
}

void Ui::text_upwards(float x, float y, std::string_view label, ImU32 colour, Face face) const {
    fonts->require(label);
    draw().text_upwards(*fonts, face, snapped(x, y), colour, label);
}

void Ui::fill(const Rect& rect, ImU32 colour, float rounding) const {
    draw().fill(rect.min(), rect.max(), colour, rounding > 0 ? px(rounding) : 0);
}

void Ui::outline(const Rect& rect, ImU32 colour, float thickness, float rounding) const {
    const float width = px(thickness);
    // Half a line inwards, so that the stroke covers whole pixels.
    draw().outline({rect.x0 + width / 2 - 0.5f, rect.y0 + width / 2 - 0.5f},
                   {rect.x1 - width / 2 + 0.5f, rect.y1 - width / 2 + 0.5f}, colour, rounding > 0 ? px(rounding) : 0,
                   width);
}

void Ui::hairline_across(float x0, float x1, float y) const { fill({x0, y, x1, y + px(1)}, theme->line); }

void Ui::hairline_down(float x, float y0, float y1) const { fill({x, y0, x + px(1), y1}, theme->line); }

}  // namespace locus
