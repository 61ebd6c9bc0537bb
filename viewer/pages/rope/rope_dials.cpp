// One dial per plane: the grey hand before the rotation, the coloured one after it; and the walk of their products.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "viewer/pages/rope/rope.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/plot_layout.h"
#include "viewer/ui/ui.h"

namespace locus {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

double length(Point p) { return std::hypot(p.x, p.y); }

bool is_finite(Point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

/// The direction of a hand with the root of its length: slow planes are often a hundred times shorter than fast ones.
Point drawn(Point p) {
    const double root = std::sqrt(length(p));
    return root > 0 ? Point{p.x / root, p.y / root} : Point{};
}

double longest(const std::vector<Point>& hands) {
    double most = 1e-12;
    for (const Point& hand : hands) most = std::max(most, length(drawn(hand)));
    return most;
}

/// ".56", "1.00", "3e−4": three or four characters under a dial.
std::string angle_label(double theta) {
    if (theta >= 0.9995) return fixed(theta, 2);
    if (theta >= 0.0095) return fixed(theta, 2).substr(1);
    const int power = static_cast<int>(std::floor(std::log10(theta) + 1e-9));
    return fixed(theta / std::pow(10.0, power), 0) + "e" + fixed(power, 0);
}

}  // namespace

void RopePage::draw_dials(Scene& scene, const Rect& area, bool query) {
    const Ui& ui = scene.ui;
    const RopeState& state = scene.state.rope;
    const ImU32 colour = query ? ui.theme->c2c : ui.theme->c2p;
    const double at = static_cast<double>(query ? state.m : state.n) + state.shift.at;
    const std::string position = fixed(at, at == std::floor(at) ? 0 : 1);
    const float title =
        ui.text(area.x0, area.y0 + ui.px(8),
                (query ? "query, rotated by " : "key, rotated by ") +
                    (stored_angles(state) ? "row " + position + " of its table" : position + "\u00b7\u03b8"),
                colour, Face::title);
    const char* note = "grey: before \u00b7 \u03b8 below";
    if (area.width() - title > ui.text_width(note, Face::mono_small) + ui.px(8))
        ui.text(area.x1, area.y0 + ui.px(8), note, ui.theme->muted, Face::mono_small, Align::right);
    const std::size_t count = numbers_.q_before.size();
    const float top = area.y0 + ui.px(24);
    const std::size_t columns = dial_columns(count, area.width(), area.y1 - top, ui.px(20));
    const std::size_t rows = (count + columns - 1) / columns;
    const float wide = area.width() / static_cast<float>(columns), high = (area.y1 - top) / static_cast<float>(rows);
    for (std::size_t n = 0; n < count; ++n) {
        const float x = area.x0 + static_cast<float>(n % columns) * wide;
        const float y = top + static_cast<float>(n / columns) * high;
        draw_dial(scene, {x, y, x + wide, y + high}, n, query);
    }
}

/// Radians by which a plane is rotated; of a stored angle less than a whole turn.
double RopePage::turn_of(const RopeState& state, std::size_t plane, bool query) const {
    const Index position = query ? state.m : state.n;
    if (const RotaryTable<float>* stored = stored_angles(state)) {
        const auto t = static_cast<Index>(plane);
        const auto angle = static_cast<double>(std::atan2(stored->sin(position, t), stored->cos(position, t)));
        return angle < 0 ? angle + kTurn : angle;
    }
    return (static_cast<double>(position) + state.shift.at) * numbers_.frequencies.theta[plane];
}

void RopePage::draw_dial(Scene& scene, const Rect& box, std::size_t plane, bool query) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const auto& before = query ? numbers_.q_before : numbers_.k_before;
    const auto& after = query ? numbers_.q_after : numbers_.k_after;
    const ImU32 colour = query ? ui.theme->c2c : ui.theme->c2p;
    const double theta = numbers_.frequencies.theta[plane];
    const float radius = std::floor(std::min(box.width() / 2 - ui.px(2), (box.height() - ui.px(20)) / 2));
    const ImVec2 centre{std::floor(box.middle_x()),
                        box.y0 + std::max(radius + ui.px(1), (box.height() - ui.px(16)) / 2)};
    const Rect face{centre.x - radius, centre.y - radius, centre.x + radius, centre.y + radius};
    if (!is_finite(before[plane]) || !is_finite(after[plane])) {
        ui.draw().circle(centre, radius, ui.theme->line, ui.px(1));
        ui.text(centre.x, centre.y, "NaN", ui.theme->fault, Face::mono_tiny, Align::centre);
        return;
    }
    const std::string id = (query ? "q" : "k") + std::to_string(plane);
    const Touch mouse = ui.touch(id.c_str(), face);
    if (mouse.hovered || mouse.held) next_plane_ = static_cast<int>(plane);
    if (mouse.held && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 1)) {
        const double pointed = std::atan2(centre.y - mouse.at.y, mouse.at.x - centre.x);
        Index& position = query ? state.m : state.n;
        position = position_at_angle(std::atan2(before[plane].y, before[plane].x) + state.shift.at * theta, pointed,
                                     theta, position, last_position());
    }
    const bool marked = plane_ == static_cast<int>(plane);
    // A stored table may lengthen the hands, each by another factor.
    const double scale =
        radius * 0.94 / (stored_angles(state) ? std::max(longest(before), longest(after)) : longest(before));
    const double from = std::atan2(before[plane].y, before[plane].x);
    const double turn = turn_of(state, plane, query);
    const auto reach = static_cast<float>(length(drawn(before[plane])) * scale);
    if (turn >= kTurn)
        ui.draw().disc(centre, reach, faded(colour, 0.16f));
    else if (turn > 0) {
        ui.draw().sector(centre, reach, static_cast<float>(-from - turn), static_cast<float>(-from),
                         faded(colour, 0.16f));
    }
    ui.draw().circle(centre, radius, marked ? ui.theme->text : ui.theme->line, ui.px(1));
    const auto hand = [&](Point exact, ImU32 ink, float width) {
        const Point to = drawn(exact);
        ui.draw().line(centre,
                       {centre.x + static_cast<float>(to.x * scale), centre.y - static_cast<float>(to.y * scale)}, ink,
                       width);
    };
    const double shrink = 1 / numbers_.frequencies.attention_factor;  // the dial keeps its scale under YaRN
    hand(before[plane], faded(ui.theme->muted, 0.8f), ui.px(1.25f));
    hand({after[plane].x * shrink, after[plane].y * shrink}, colour, ui.px(2.25f));
    ui.text(centre.x, centre.y + radius + ui.px(11), angle_label(theta), marked ? ui.theme->text : ui.theme->muted,
            Face::mono_tiny, Align::centre);
    if (!mouse.hovered) return;
    draw_tooltip(ui, {{{"plane " + std::to_string(plane), ui.theme->text}},
                      {{"\u03b8 = " + brief(theta) + " rad per position", ui.theme->muted, Face::mono_small}},
                      {{"rotated by ", ui.theme->muted}, {fixed(turn, 3) + " rad", ui.theme->text, Face::mono}},
                      {{"length ", ui.theme->muted},
                       {compact(length(before[plane]), 3), ui.theme->text, Face::mono},
                       {stored_angles(state) ? "" : ", the same after", ui.theme->muted}},
                      {{"drag the hand to move ", ui.theme->muted, Face::label},
                       {query ? "m" : "n", ui.theme->muted, Face::label}}});
}

void RopePage::draw_walk(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Rect plot{area.x0 + ui.px(26), area.y0, area.x1, area.y1 - ui.px(16)};
    if (!std::all_of(numbers_.corners.begin(), numbers_.corners.end(), is_finite)) {
        ui.outline(plot, theme.line);
        ui.paragraph(plot.x0 + ui.px(16), plot.y0 + ui.px(14), plot.width() - ui.px(32),
                     "There is no walk: q or k holds what is no number (NaN or infinite).", theme.fault);
        return;
    }
    // One unit is as long across as upwards.
    const Frame frame =
        frame_around(numbers_.corners, static_cast<double>(plot.width()) / static_cast<double>(plot.height()), 0.12);
    const double unit = static_cast<double>(plot.height()) / (frame.y1 - frame.y0);
    const auto place = [&](Point p) {
        return ImVec2{plot.x0 + static_cast<float>((p.x - frame.x0) * unit),
                      plot.y1 - static_cast<float>((p.y - frame.y0) * unit)};
    };
    ui.outline(plot, theme.line);
    const auto fit = [&](float pixels) { return std::max(2, static_cast<int>(pixels / ui.px(48))); };
    const std::vector<double> across = nice_ticks(frame.x0, frame.x1, fit(plot.width()));
    for (const double tick : across) {
        const float x = std::floor(place({tick, 0}).x);
        ui.fill({x, plot.y0, x + ui.px(1), plot.y1}, faded(theme.line, tick == 0 ? 1.0f : 0.5f));
        ui.text(x, plot.y1 + ui.px(10), tick_label(tick, across), theme.muted, Face::mono_small, Align::centre);
    }
    const std::vector<double> upwards = nice_ticks(frame.y0, frame.y1, fit(plot.height()));
    for (const double tick : upwards) {
        const float y = std::floor(place({0, tick}).y);
        ui.fill({plot.x0, y, plot.x1, y + ui.px(1)}, faded(theme.line, tick == 0 ? 1.0f : 0.5f));
        ui.text(plot.x0 - ui.px(5), y, tick_label(tick, upwards), theme.muted, Face::mono_small, Align::right);
    }
    const auto last = static_cast<float>(numbers_.steps.size() - 1);
    for (std::size_t n = 0; n < numbers_.steps.size(); ++n) {
        const bool marked = plane_ == static_cast<int>(n);
        const ImU32 ink = marked ? theme.text
                                 : mixed(mixed(theme.background, theme.c2c, 0.4f), theme.c2c,
                                         last > 0 ? static_cast<float>(n) / last : 1);
        ui.draw().line(place(numbers_.corners[n]), place(numbers_.corners[n + 1]), ink, ui.px(marked ? 3 : 2.5f));
    }
    const ImVec2 end = place(numbers_.corners.back()), foot = place({numbers_.score, 0});
    draw_dashed(ui, {end, foot}, theme.p2c, ui.px(1.75f), 4);
    ui.draw().line(place({0, 0}), foot, theme.p2c, ui.px(2));
    ui.draw().disc(end, ui.px(4), theme.text);
    const float above = end.y >= foot.y ? foot.y - ui.px(11) : foot.y + ui.px(12);
    const std::string label = "q\u00b7k " + compact(numbers_.score, 2);
    const float half = ui.text_width(label) / 2 + ui.px(4);
    ui.text(std::clamp(foot.x, plot.x0 + half, plot.x1 - half), above, label, theme.p2c, Face::ui, Align::centre);
}

// Which channels make a plane, and what distance does to the score and to its bound.

void RopePage::draw_wires(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const float title = area.y0 + ui.px(6);
    ui.text(area.x0, title, "which two channels rotate together?", ui.theme->text, Face::title);
    const float wide = ui.text_width("interleaved") + ui.text_width("half-split") + ui.px(44);
    ui.choice("layout", area.x1 - wide, title, {"interleaved", "half-split"}, state.layout);

    const Index width = numbers_.q.size();
    const std::vector<Index> ends = wire_ends(width, layout_of(state));
    const float labels = ui.px(58);
    const Rect plot{area.x0 + labels, area.y0 + ui.px(30), area.x1, area.y1 - ui.px(2)};
    ui.text(area.x0, plot.y0, "channels", ui.theme->muted, Face::label);
    ui.text(area.x0, plot.y1, "planes", ui.theme->muted, Face::label);
    const float pitch = plot.width() / static_cast<float>(width);
    const auto channel_x = [&](Index c) { return plot.x0 + (static_cast<float>(c) + 0.5f) * pitch; };
    // The two slots of a plane are closer together than two planes.
    const auto slot_x = [&](Index s) { return channel_x(s) + (s % 2 == 0 ? 0.2f : -0.2f) * pitch; };
    const float top = plot.y0 + ui.px(8), bottom = plot.y1 - ui.px(9), bend = (bottom - top) * 0.45f;
    for (const bool front : {false, true})
        for (Index c = 0; c < width; ++c) {
            const Index end = ends[static_cast<std::size_t>(c)], plane = end / 2;
            const bool marked = plane_ == static_cast<int>(plane);
            if (marked != front) continue;
            const ImU32 ink = marked         ? ui.theme->text
                              : end % 2 == 0 ? faded(ui.theme->accent, 0.75f)
                                             : faded(ui.theme->muted, 0.75f);
            ui.draw().curve({channel_x(c), top}, {channel_x(c), top + bend}, {slot_x(end), bottom - bend},
                            {slot_x(end), bottom}, ink, ui.px(marked ? 2.25f : 1.25f));
        }
    const Index every = pitch >= ui.px(15) ? 1 : pitch >= ui.px(8) ? 2 : 4;
    for (Index c = 0; c < width; c += every)
        ui.text(channel_x(c), plot.y0, std::to_string(c), ui.theme->muted, Face::mono_tiny, Align::centre);
    for (Index t = 0; t < width / 2; ++t) {
        const float x = (slot_x(2 * t) + slot_x(2 * t + 1)) / 2;
        const Rect box{x - pitch, top, x + pitch, plot.y1 + ui.px(8)};
        if (ui.touch(("wire" + std::to_string(t)).c_str(), box).hovered) next_plane_ = static_cast<int>(t);
        if (t % (pitch >= ui.px(8) ? 1 : 2) == 0)
            ui.text(x, plot.y1, std::to_string(t), plane_ == static_cast<int>(t) ? ui.theme->text : ui.theme->muted,
                    Face::mono_tiny, Align::centre);
    }
}

void RopePage::draw_curves(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    RopeState& state = scene.state.rope;
    const Index distance = state.m - state.n;
    const float split = area.x0 + std::floor(area.width() * 0.62f), top = area.y0 + ui.px(24);
    const auto notes = [&](const Rect& plot, const std::string& title, const std::string& note) {
        ui.text(plot.x0, area.y0 + ui.px(8), title, ui.theme->text, Face::title);
        ui.text(plot.x1, area.y0 + ui.px(8), note, ui.theme->muted, Face::mono_small, Align::right);
    };
    const Rect left{area.x0, top, split - ui.px(14), area.y1 - ui.px(16)},
        right{split + ui.px(4), top, area.x1, left.y1};
    const bool beyond = std::abs(distance) > kReach;
    notes(left, "q\u00b7k over distance",
          beyond ? "m \u2212 n = " + whole(distance) + " is beyond it" : "this head, these two vectors");
    LinePlot plot;
    plot.first_x = -kReach;
    plot.x_name = "m \u2212 n";
    plot.decimals = 3;
    plot.zero_line = true;
    // Of vectors that hold NaN the whole curve is a gap, and its axis any.
    static constexpr std::array<double, 2> kAnyAxis = {0, 1};
    const bool finite = std::isfinite(numbers_.largest);
    const auto [low, high] = finite ? std::minmax_element(&numbers_.curve.front(), &numbers_.curve.back() + 1)
                                    : std::minmax_element(&kAnyAxis.front(), &kAnyAxis.back() + 1);
    const double spare = std::max(1e-9, (*high - *low) * 0.06);
    plot.low = std::min(0.0, *low - spare);
    plot.high = std::max(0.0, *high + spare);
    plot.curves = {{numbers_.curve, ui.theme->p2c, "q\u00b7k"}};
    if (!beyond) plot.marked_x = static_cast<double>(distance);
    const auto under = draw_line_plot(ui, "curve", {left.x0, left.y0, left.x1, left.y1}, plot);
    if (under && ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
        state.m = std::clamp<Index>(state.n + static_cast<Index>(*under), 0, last_position());
        state.n = std::clamp<Index>(state.m - static_cast<Index>(*under), 0, last_position());
    }
    const float below = area.y1 - ui.px(5);
    ui.text(left.x0 + ui.px(34), below, "key to the right \u2190 m \u2212 n \u2192 key to the left", ui.theme->muted,
            Face::mono_small);

    notes(right, "bound of the paper", "B(|m \u2212 n|)");
    LinePlot bound;
    bound.x_name = "|m \u2212 n|";
    bound.decimals = 3;
    bound.high = *std::max_element(numbers_.bound.begin(), numbers_.bound.end()) * 1.06;
    bound.curves = {{numbers_.bound, ui.theme->muted, "B", true}};
    if (!beyond) bound.marked_x = static_cast<double>(std::abs(distance));
    draw_line_plot(ui, "bound", {right.x0 - ui.px(6), right.y0, right.x1, right.y1}, bound);
    ui.text(right.x1, below,
            numbers_.constant     ? "it is constant here"
            : numbers_.rises == 0 ? "it never rises here"
                                  : "not monotone: first rises at " + std::to_string(numbers_.first_rise),
            ui.theme->muted, Face::mono_small, Align::right);
}

}  // namespace locus
