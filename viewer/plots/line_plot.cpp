#include "viewer/plots/line_plot.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"
#include "viewer/plots/plot_layout.h"
#include "viewer/ui/ui.h"

namespace locus {

namespace {

/// From numbers to places.
struct Axes {
    Rect frame;
    double left, right, low, high;

    float x(double value) const {
        return frame.x0 + static_cast<float>((value - left) / (right - left)) * frame.width();
    }
    float y(double value) const { return frame.y1 - static_cast<float>((value - low) / (high - low)) * frame.height(); }
};

void draw_grid(const Ui& ui, const Axes& axes, const LinePlot& plot) {
    const auto rows = static_cast<int>(axes.frame.height() / ui.px(22));
    const std::vector<double> y_ticks = nice_ticks(axes.low, axes.high, std::clamp(rows, 2, 8));
    for (const double tick : y_ticks) {
        const float y = std::floor(axes.y(tick));
        if (tick > axes.low && tick < axes.high)
            ui.fill({axes.frame.x0, y, axes.frame.x1, y + ui.px(1)}, faded(ui.theme->line, 0.6f));
        // A number at the upper edge would reach into what stands above the plot.
        ui.text(axes.frame.x0 - ui.px(6), std::max(y, axes.frame.y0 + ui.px(5)), tick_label(tick, y_ticks) + plot.unit,
                ui.theme->muted, Face::mono_small, Align::right);
    }
    const auto columns = static_cast<int>(axes.frame.width() / ui.px(46));
    const double last = plot.first_x + static_cast<double>(plot.curves.front().values.size()) - 1;
    for (const double tick : whole_ticks(plot.first_x, last, std::clamp(columns, 2, 13))) {
        const float x = std::floor(axes.x(tick));
        ui.fill({x, axes.frame.y0, x + ui.px(1), axes.frame.y1}, faded(ui.theme->line, tick == 0 ? 1.0f : 0.6f));
        ui.text(x, axes.frame.y1 + ui.px(11), whole(static_cast<std::int64_t>(tick)), ui.theme->muted, Face::mono_small,
                Align::centre);
    }
}

void draw_curve(const Ui& ui, const Axes& axes, const LinePlot& plot, const Curve& curve) {
    std::vector<ImVec2> stretch;
    const float width = curve.values.size() > 80 && !plot.steps ? ui.px(1.25f) : ui.px(1.75f);
    const auto flush = [&] {
        if (stretch.size() == 1)
            ui.draw().disc(stretch.front(), ui.px(2.5f), curve.colour);
        else if (curve.dashed)
            draw_dashed(ui, stretch, curve.colour, width, 4);
        else if (stretch.size() > 1)
            ui.draw().polyline(stretch.data(), static_cast<int>(stretch.size()), curve.colour, width);
        stretch.clear();
    };
    for (std::size_t n = 0; n < curve.values.size(); ++n) {
        const double x = plot.first_x + static_cast<double>(n);
        if (!std::isfinite(curve.values[n])) {
            flush();
            continue;
        }
        const float y = axes.y(curve.name.empty() ? curve.values[n] : std::clamp(curve.values[n], axes.low, axes.high));
        if (plot.steps) {
            // A level stretch is one segment: joints inside a straight line are drawn as knots.
            const bool level = stretch.size() > 1 && stretch.back().y == y;
            if (!level) stretch.push_back({axes.x(x - 0.5), y});
            if (level) stretch.pop_back();
            stretch.push_back({axes.x(x + 0.5), y});
        } else {
            stretch.push_back({axes.x(x), y});
        }
    }
    flush();
}

void draw_mark(const Ui& ui, const Axes& axes, const LinePlot& plot, double x, float strength) {
    const float at = std::floor(axes.x(x));
    ui.fill({at, axes.frame.y0, at + ui.px(1), axes.frame.y1}, faded(ui.theme->text, strength));
    for (const Curve& curve : plot.curves) {
        if (curve.name.empty()) continue;
        const auto n = static_cast<std::ptrdiff_t>(x - plot.first_x);
        if (n < 0 || n >= static_cast<std::ptrdiff_t>(curve.values.size())) continue;
        const double value = curve.values[static_cast<std::size_t>(n)];
        if (std::isfinite(value)) ui.draw().disc({at + ui.px(1) / 2, axes.y(value)}, ui.px(3), curve.colour);
    }
}

void draw_values(const Ui& ui, const LinePlot& plot, double x) {
    std::vector<std::vector<Span>> lines;
    lines.push_back({{plot.x_name + " = " + whole(static_cast<std::int64_t>(x)), ui.theme->text, Face::mono}});
    for (const Curve& curve : plot.curves)
        if (!curve.name.empty())
            lines.push_back({{curve.name + "  ", curve.colour, Face::ui},
                             {fixed(curve.values[static_cast<std::size_t>(x - plot.first_x)], plot.decimals),
                              ui.theme->text, Face::mono}});
    draw_tooltip(ui, lines);
}

}  // namespace

std::optional<double> draw_line_plot(const Ui& ui, const char* id, const Rect& area, const LinePlot& plot) {
    if (plot.curves.empty() || plot.curves.front().values.empty()) return std::nullopt;
    const Rect frame{area.x0 + ui.px(34), area.y0, area.x1, area.y1 - ui.px(20)};
    const auto points = static_cast<double>(plot.curves.front().values.size());
    const double half = plot.steps || points == 1 ? 0.5 : 0;  // steps and a single point need space on both sides
    const Axes axes{frame, plot.first_x - half, plot.first_x + points - 1 + half, plot.low, plot.high};
    draw_grid(ui, axes, plot);
    ui.outline(frame, ui.theme->line);
    if (plot.zero_line && plot.low < 0 && plot.high > 0)
        ui.fill({frame.x0, std::floor(axes.y(0)), frame.x1, std::floor(axes.y(0)) + ui.px(1)}, ui.theme->line);
    // Faint curves may leave the plot and end at its frame; the others stay inside, and need space for lines and
    // discs.
    const auto clip = [&](float margin) {
        ui.draw().push_clip({frame.x0, frame.y0 - margin}, {frame.x1, frame.y1 + margin});
    };
    for (const Curve& curve : plot.curves) {
        clip(curve.name.empty() ? 0 : ui.px(4));
        draw_curve(ui, axes, plot, curve);
        ui.draw().pop_clip();
    }
    clip(ui.px(4));
    if (plot.marked_x) draw_mark(ui, axes, plot, *plot.marked_x, 0.35f);
    const Touch mouse = ui.touch(id, frame);
    std::optional<double> under;
    if (mouse.hovered) {
        const double x = axes.left + (mouse.at.x - frame.x0) / frame.width() * (axes.right - axes.left);
        under = std::clamp(std::round(x), plot.first_x, plot.first_x + points - 1);
        draw_mark(ui, axes, plot, *under, 0.6f);
    }
    ui.draw().pop_clip();
    if (under) draw_values(ui, plot, *under);
    return under;
}

void draw_tooltip(const Ui& ui, const std::vector<std::vector<Span>>& lines) {
    Ui over = ui;
    over.list = ImGui::GetForegroundDrawList();
    float width = 0;
    for (const std::vector<Span>& line : lines) width = std::max(width, ui.spans_width(line));
    const float pitch = ui.px(20), pad = ui.px(10);
    const ImVec2 screen = ImGui::GetIO().DisplaySize, mouse = ImGui::GetIO().MousePos;
    Rect box{0, 0, width + 2 * pad, pitch * static_cast<float>(lines.size()) + pad};
    // Outside a matrix what it speaks of is as large as the pointer.
    const Rect at = ui.pointed.holds(mouse) ? ui.pointed : Rect{mouse.x, mouse.y, mouse.x + pad, mouse.y + pad};
    const Corner corner =
        tooltip_place({at.x0, at.y0, at.x1, at.y1}, box.width(), box.height(), screen.x, screen.y, ui.px(6));
    box = box.moved(corner.x, corner.y);
    over.fill(box, ui.theme->panel, 6);
    over.outline(box, ui.theme->line, 1, 6);
    float y = box.y0 + pad / 2 + pitch / 2;
    for (const std::vector<Span>& line : lines) {
        over.spans(box.x0 + pad, y, line);
        y += pitch;
    }
}

}  // namespace locus
