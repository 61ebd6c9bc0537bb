#include "viewer/automation/frame_reader.h"

#include <algorithm>
#include <cmath>
#include <set>

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

namespace {

constexpr float kSlack = 1.5f;  // window units: positions are rounded to whole ones

std::string place_text(const Corners& box) {
    const auto whole = [](float x) { return std::to_string(std::lround(x)); };
    return whole(box.min.x) + "," + whole(box.min.y) + " \u2026 " + whole(box.max.x) + "," + whole(box.max.y);
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

struct Seen {
    const TextMark* text;
    Corners ink;
    bool above;
};

bool blank(const std::string& text) { return text.find_first_not_of(' ') == std::string::npos; }

}  // namespace

std::vector<std::string> layout_faults(const DrawRecorder& log, ImVec2 window) {
    std::vector<std::string> faults;
    std::vector<Seen> seen;
    const Corners screen{{0, 0}, window};
    for (const Mark& mark : log.marks) {
        const auto* text = std::get_if<TextMark>(&mark.shape);
        if (!text || blank(text->text)) continue;
        const Corners ink = ink_of(*text), area = mark.clip.common(screen);
        const Corners wider{{area.min.x - kSlack, area.min.y - kSlack}, {area.max.x + kSlack, area.max.y + kSlack}};
        if (!mark.scrolled && !wider.holds(ink))
            faults.push_back(quoted(text->text) + " at " + place_text(ink) + " is cut off by its box " +
                             place_text(area));
        const Corners visible = ink.common(area);
        if (!visible.empty()) seen.push_back({text, visible, mark.above});
    }
    for (std::size_t a = 0; a < seen.size(); ++a)
        for (std::size_t b = a + 1; b < seen.size(); ++b) {
            if (seen[a].above != seen[b].above) continue;
            const Corners both = seen[a].ink.common(seen[b].ink);
            if (both.max.x - both.min.x > kSlack && both.max.y - both.min.y > kSlack)
                faults.push_back(quoted(seen[a].text->text) + " and " + quoted(seen[b].text->text) +
                                 " lie over each other at " + place_text(both));
        }
    std::set<std::string> names;
    for (const Item& item : log.items) {
        // Of two in one window the first takes the clicks of both.
        if (!names.insert(item.id).second) faults.push_back("two places are named " + quoted(item.id));
        const Corners wider{{-kSlack, -kSlack}, {window.x + kSlack, window.y + kSlack}};
        if (!item.scrolled && !wider.holds(item.box))
            faults.push_back("the place " + quoted(item.id) + " at " + place_text(item.box) +
                             " reaches out of the window");
    }
    return faults;
}

}  // namespace locus
