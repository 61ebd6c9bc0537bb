#include "viewer/automation/frame_text.h"

#include <algorithm>
#include <cmath>

namespace locus {

namespace {

/// True if `next` goes on where `before` ended.
bool follows(const TextMark& before, const TextMark& next) {
    return !before.upwards && !next.upwards && std::abs(next.box.min.x - before.box.max.x) < 2 &&
           std::abs(next.baseline.y - before.baseline.y) < before.size;
}

}  // namespace

std::vector<SeenLine> seen_lines(const DrawRecorder& log) {
    std::vector<SeenLine> lines;
    const TextMark* before = nullptr;
    for (const Mark& mark : log.marks) {
        const auto* text = std::get_if<TextMark>(&mark.shape);
        if (!text) continue;
        const Corners seen = text->box.common(mark.clip);
        if (!seen.empty() && before && follows(*before, *text)) {
            SeenLine& line = lines.back();
            line.text += text->text;
            line.box.max = {std::max(line.box.max.x, seen.max.x), std::max(line.box.max.y, seen.max.y)};
        } else if (!seen.empty()) {
            lines.push_back({text->text, seen});
        }
        before = seen.empty() ? nullptr : text;
    }
    return lines;
}

const SeenLine* find_line(const std::vector<SeenLine>& lines, const std::string& text) {
    const SeenLine* holds = nullptr;
    for (const SeenLine& line : lines) {
        if (line.text == text) return &line;
        if (!holds && line.text.find(text) != std::string::npos) holds = &line;
    }
    return holds;
}

Corners ink_of(const TextMark& text) {
    // Capitals of all faces here are 0.55 to 0.6 of the height of a line.
    const float high = text.size * 0.55f;
    if (text.upwards) return {{text.baseline.x - high, text.box.min.y}, {text.baseline.x, text.box.max.y}};
    return {{text.box.min.x, text.baseline.y - high}, {text.box.max.x, text.baseline.y}};
}

}  // namespace locus
