#include "viewer/automation/layout_check.h"

#include <cmath>

#include "viewer/automation/frame_text.h"

namespace locus {

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
        const Corners ink = ink_of(*text), room = mark.clip.common(screen);
        const Corners wider{{room.min.x - kSlack, room.min.y - kSlack}, {room.max.x + kSlack, room.max.y + kSlack}};
        if (!mark.scrolled && !wider.holds(ink))
            faults.push_back(quoted(text->text) + " at " + place_text(ink) + " is cut off by its room " +
                             place_text(room));
        const Corners visible = ink.common(room);
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
    for (const Item& item : log.items) {
        const Corners wider{{-kSlack, -kSlack}, {window.x + kSlack, window.y + kSlack}};
        if (!item.scrolled && !wider.holds(item.box))
            faults.push_back("the place " + quoted(item.id) + " at " + place_text(item.box) +
                             " reaches out of the window");
    }
    return faults;
}

}  // namespace locus
