// The flow, left to right: queries travel in orange, keys and values in blue.
#include <algorithm>
#include <cmath>

#include "viewer/pages/decoder/decoder.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/animation_controls.h"

namespace locus {

namespace {

/// The point of a cubic curve after a share 0 ... 1 of its way.
ImVec2 on_curve(ImVec2 a, ImVec2 b, ImVec2 c, ImVec2 d, float share) {
    const float rest = 1 - share;
    const float w[] = {rest * rest * rest, 3 * rest * rest * share, 3 * rest * share * share, share * share * share};
    return {w[0] * a.x + w[1] * b.x + w[2] * c.x + w[3] * d.x, w[0] * a.y + w[1] * b.y + w[2] * c.y + w[3] * d.y};
}

/// A curve that leaves and arrives level, with a head at its end; `under_way`: what travels on it, 0 ... 1, or nothing.
void arrow(const Ui& ui, ImVec2 from, ImVec2 to, ImU32 colour, float sag = 0, float under_way = 0) {
    const float bend = std::max(ui.px(16), (to.x - from.x) * 0.45f), head = ui.px(6);
    const ImVec2 first{from.x + bend, from.y + sag}, second{to.x - bend, to.y + sag};
    ui.draw().curve(from, first, second, {to.x - ui.px(1), to.y}, colour, ui.px(1.75f));
    if (under_way > 0) ui.draw().disc(on_curve(from, first, second, to, under_way), ui.px(5), colour);
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

float DecoderPage::presence(const Scene& scene, int part) const {
    const Animation& animation = scene.state.decoder.animation;
    if (!animation.playing && animation.at >= kLastPart) return 1;  // at rest everything is there
    return static_cast<double>(part) <= animation.at ? 1.0f : 0.25f;
}

void DecoderPage::draw_box(const Scene& scene, const Rect& box, const std::vector<Span>& title,
                           const std::string& caption, const Heatmap* picture, int part,
                           const PartStatistics* statistics) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Animation& animation = scene.state.decoder.animation;
    const bool rests = !animation.playing && animation.at >= kLastPart;
    const bool now = !rests && whole_frame(animation) == part, pass = part == 2 || part == 3;
    ui.fill(box, theme.panel, 6);
    const float pad = ui.px(12);
    ui.spans(box.x0 + pad, box.y0 + ui.px(15), title);
    ui.text_within(box.x0 + pad, box.y1 - ui.px(14), box.width() - pad, caption, theme.muted, Face::mono_small);
    if (picture && !picture->empty())
        picture->draw(ui, {box.x0 + pad, box.y0 + ui.px(29), box.x1 - pad, box.y1 - ui.px(27)});
    const float there = presence(scene, part);
    if (there < 1) ui.fill(box, faded(theme.background, 1 - there), 6);
    ui.outline(box, now ? theme.accent : pass ? faded(theme.c2p, there) : theme.line, now ? 2 : 1, 6);
    if (!statistics || statistics->rows == 0) return;
    const Touch mouse = ui.touch(("part " + caption).c_str(), box);
    if (!mouse.hovered) return;
    const auto line = [&](const char* name, double value) {
        return std::vector<Span>{{name, theme.muted}, {fixed(value, 4), theme.text, Face::mono}};
    };
    draw_tooltip(
        ui, {{{caption, theme.text}},
             {{std::to_string(statistics->rows) + " tokens \u00d7 " + std::to_string(statistics->columns) + " channels",
               theme.muted, Face::mono_small}},
             line("mean ", statistics->mean),
             line("standard deviation ", statistics->deviation),
             line("smallest ", statistics->smallest),
             line("largest ", statistics->largest)});
}

void DecoderPage::draw_arrows(const Scene& scene, const std::array<Rect, 6>& boxes, float sag) const {
    const Ui& ui = scene.ui;
    const auto& [absolute, hidden, query, first, second, head] = boxes;
    const Animation& animation = scene.state.decoder.animation;
    const float lane = query.middle_y();
    const double from = std::floor(animation.at);
    // What leads to a part is under way while the animation is on its way to it.
    const auto under_way = [&](int part) {
        return from + 1 == static_cast<double>(part) ? static_cast<float>(animation.at - from) : 0.0f;
    };
    const auto draw = [&](ImVec2 a, ImVec2 b, ImU32 colour, int part, float bends = 0) {
        const float moves = under_way(part);
        arrow(ui, a, b, faded(colour, moves > 0 ? 1.0f : presence(scene, part)), bends, moves);
    };
    const ImU32 queries = ui.theme->c2p, keys = ui.theme->c2c;
    draw({absolute.x1, absolute.middle_y()}, {query.x0, query.y0 + query.height() * 0.4f}, queries, 1);
    draw({hidden.x1, hidden.y0 + hidden.height() * 0.25f}, {query.x0, query.y0 + query.height() * 0.7f}, keys, 1);
    draw({hidden.x1, hidden.y0 + hidden.height() * 0.6f}, {first.x0, first.y1 - ui.px(22)}, keys, 2, ui.px(6));
    draw({hidden.x1, hidden.y0 + hidden.height() * 0.8f}, {second.x0, second.y1 - ui.px(22)}, keys, 3, sag);
    draw({query.x1, lane}, {first.x0, lane}, queries, 2);
    draw({first.x1, lane}, {second.x0, lane}, queries, 3);
    draw({second.x1, lane + (head.middle_y() - lane) / 2}, {head.x0, head.middle_y()}, queries, 4);
}

void DecoderPage::draw_animation(Scene& scene, const std::array<Rect, 6>& boxes, const Rect& area) const {
    const Ui& ui = scene.ui;
    Animation& animation = scene.state.decoder.animation;
    static constexpr const char* kParts[] = {
        "H says what every token is, I at which position.", "H + I becomes the query: only it holds positions.",
        "Pass 1: the query looks at H, which holds no absolute positions.",
        "Pass 2: the same layer again, the new query on the same H.", "The head turns the last query into words."};
    const Index part = whole_frame(animation);
    draw_animation_controls(ui, "film", boxes[3].x0, area.y0 + ui.px(9), ui.px(60), animation, kLastPart,
                            std::to_string(part + 1) + " of 5", scene.state.reduce_motion);
    if (!animation.playing && animation.at >= kLastPart) return;  // at rest the pictures speak
    const float x = boxes[4].x0 + ui.px(6), y = boxes[4].y1 + ui.px(22);
    ui.paragraph(x, y, area.x1 - x, kParts[part], ui.theme->text, Face::label);
}

void DecoderPage::draw_flow(Scene& scene, const Rect& area) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Index last = scene.session.config().num_hidden_layers - 1;
    const float sx = area.width() / 816, sy = area.height() / 240;
    // Places of the drawing, stretched to the area.
    const auto place = [&](float x0, float y0, float x1, float y1) {
        return Rect{std::floor(area.x0 + x0 * sx), std::floor(area.y0 + y0 * sy), std::floor(area.x0 + x1 * sx),
                    std::floor(area.y0 + y1 * sy)};
    };
    const std::array<Rect, 6> boxes = {place(0, 0, 128, 108),    place(0, 124, 128, 236),  place(192, 44, 300, 108),
                                       place(352, 24, 480, 200), place(540, 24, 668, 200), place(716, 50, 816, 172)};
    const auto& [absolute, hidden, query, first, second, head] = boxes;
    const float lane = query.middle_y();
    const ImU32 queries = theme.c2p, keys = theme.c2c;
    draw_arrows(scene, boxes, ui.px(44) * sy);
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
             "rows 0\u2026" + std::to_string(scene.answer->length() - 1), &streams_[0], 0, &statistics_[0]);
    draw_box(scene, hidden, {{"H", keys, Face::title}, {"  what", theme.muted, Face::label}},
             "layer " + std::to_string(last - 1) + " output", &streams_[1], 0, &statistics_[1]);
    std::vector<Span> sum = numbered(ui, "q", "0", " = ", queries);
    sum.insert(sum.end(), {{"H", keys, Face::title}, {" + ", theme.text, Face::title}, {"I", queries, Face::title}});
    draw_box(scene, query, sum, "query", nullptr, 1, &statistics_[5]);
    draw_box(scene, first, {{layer, theme.text, Face::title}}, "pass 1", &streams_[2], 2, &statistics_[2]);
    draw_box(scene, second, {{layer, theme.text, Face::title}}, "pass 2", &streams_[3], 3, &statistics_[3]);
    draw_box(scene, head, {{"head", theme.text, Face::title}}, "\u2192 words", &streams_[4], 4, &statistics_[4]);
    draw_animation(scene, boxes, area);
}

}  // namespace locus
