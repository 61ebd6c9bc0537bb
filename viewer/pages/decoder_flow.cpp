// The flow, left to right: queries travel in orange, keys and values in blue.
#include <algorithm>
#include <cmath>

#include "viewer/pages/decoder.h"

namespace locus {

namespace {

/// A curve that leaves and arrives level, with a head at its end.
void arrow(const Ui& ui, ImVec2 from, ImVec2 to, ImU32 colour, float sag = 0) {
    const float bend = std::max(ui.px(16), (to.x - from.x) * 0.45f), head = ui.px(6);
    ui.draw().curve(from, {from.x + bend, from.y + sag}, {to.x - bend, to.y + sag}, {to.x - ui.px(1), to.y}, colour,
                    ui.px(1.75f));
    // The head follows the end of the curve.
    const float dx = bend, dy = -sag, length = std::sqrt(dx * dx + dy * dy);
    const float ux = dx / length, uy = dy / length;
    const ImVec2 left{to.x - ux * head * 1.5f - uy * head * 0.7f, to.y - uy * head * 1.5f + ux * head * 0.7f};
    const ImVec2 right{to.x - ux * head * 1.5f + uy * head * 0.7f, to.y - uy * head * 1.5f - ux * head * 0.7f};
    const ImVec2 points[] = {left, to, right};
    ui.draw().polyline(points, 3, colour, ui.px(1.75f));
}

std::vector<Span> numbered(const Ui& ui, const char* letter, const std::string& number, const std::string& rest,
                           ImU32 colour) {
    return {{letter, colour, Face::title}, {number, colour, Face::tiny, -4}, {rest, ui.theme->text, Face::title}};
}

}  // namespace

void DecoderPage::draw_box(const Scene& scene, const Rect& box, const std::vector<Span>& title,
                           const std::string& caption, const Heatmap* picture, ImU32 border) const {
    const Ui& ui = scene.ui;
    ui.fill(box, ui.theme->panel, 6);
    ui.outline(box, border, 1, 6);
    const float pad = ui.px(12);
    ui.spans(box.x0 + pad, box.y0 + ui.px(15), title);
    ui.text_within(box.x0 + pad, box.y1 - ui.px(14), box.width() - pad, caption, ui.theme->muted, Face::mono_small);
    if (picture && !picture->empty())
        picture->draw(ui, {box.x0 + pad, box.y0 + ui.px(29), box.x1 - pad, box.y1 - ui.px(27)});
}

void DecoderPage::draw_flow(Scene& scene, const Rect& room) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Index last = scene.session.config().num_hidden_layers - 1;
    const float sx = room.width() / 816, sy = room.height() / 240;
    // Places of the drawing, stretched to the room.
    const auto place = [&](float x0, float y0, float x1, float y1) {
        return Rect{std::floor(room.x0 + x0 * sx), std::floor(room.y0 + y0 * sy), std::floor(room.x0 + x1 * sx),
                    std::floor(room.y0 + y1 * sy)};
    };
    const Rect absolute = place(0, 0, 128, 108), hidden = place(0, 124, 128, 236), query = place(192, 44, 300, 108);
    const Rect first = place(352, 22, 480, 200), second = place(540, 22, 668, 200), head = place(716, 50, 816, 172);
    const float lane = query.middle_y();
    const ImU32 queries = theme.c2p, keys = theme.c2c;

    arrow(ui, {absolute.x1, absolute.middle_y()}, {query.x0, query.y0 + query.height() * 0.4f}, queries);
    arrow(ui, {hidden.x1, hidden.y0 + hidden.height() * 0.25f}, {query.x0, query.y0 + query.height() * 0.7f}, keys);
    arrow(ui, {hidden.x1, hidden.y0 + hidden.height() * 0.6f}, {first.x0, first.y1 - ui.px(22)}, keys, ui.px(6));
    arrow(ui, {hidden.x1, hidden.y0 + hidden.height() * 0.8f}, {second.x0, second.y1 - ui.px(22)}, keys,
          ui.px(44) * sy);
    arrow(ui, {query.x1, lane}, {first.x0, lane}, queries);
    arrow(ui, {first.x1, lane}, {second.x0, lane}, queries);
    arrow(ui, {second.x1, lane + (head.middle_y() - lane) / 2}, {head.x0, head.middle_y()}, queries);
    const auto note = [&](float x, float y, const std::vector<Span>& text) {
        ui.spans(x - ui.spans_width(text) / 2, y, text);
    };
    const auto on_the_way = [&](const Rect& a, const Rect& b) { return (a.x1 + b.x0) / 2 - ui.px(2); };
    note(on_the_way(query, first), lane - ui.px(12), numbered(ui, "q", "0", "", queries));
    note(on_the_way(first, second), lane - ui.px(12), numbered(ui, "q", "1", "", queries));
    note(on_the_way(second, head), lane - ui.px(2), numbered(ui, "q", "2", "", queries));
    note(first.x0 - ui.px(34), first.y1 - ui.px(38), {{"K, V", keys, Face::label}});
    note(second.x0 - ui.px(30), second.y1 + ui.px(12), {{"K, V", keys, Face::label}});

    const std::string layer = "layer " + std::to_string(last);
    draw_box(scene, absolute, {{"I", queries, Face::title}, {"  where", theme.muted, Face::label}},
             "rows 0\u2026" + std::to_string(scene.answer->length() - 1), &streams_[0], theme.line);
    draw_box(scene, hidden, {{"H", keys, Face::title}, {"  what", theme.muted, Face::label}},
             "layer " + std::to_string(last - 1) + " output", &streams_[1], theme.line);
    std::vector<Span> sum = numbered(ui, "q", "0", " = ", queries);
    sum.insert(sum.end(), {{"H", keys, Face::title}, {" + ", theme.text, Face::title}, {"I", queries, Face::title}});
    draw_box(scene, query, sum, "query", nullptr, theme.line);
    draw_box(scene, first, {{layer, theme.text, Face::title}}, "pass 1", &streams_[2], queries);
    draw_box(scene, second, {{layer, theme.text, Face::title}}, "pass 2", &streams_[3], queries);
    draw_box(scene, head, {{"head", theme.text, Face::title}}, "\u2192 words", &streams_[4], theme.line);
}

}  // namespace locus
