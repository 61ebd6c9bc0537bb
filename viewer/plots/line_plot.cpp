#include "viewer/plots/line_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/plots/number_format.h"

namespace locus::view {

namespace {

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    void include(double value) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    double extent() const { return high - low; }
};

struct Axes {
    ImVec2 corner, extent;
    Range x, y;
    ImVec2 at(double px_x, double px_y) const {
        return {corner.x + static_cast<float>((px_x - x.low) / x.extent()) * extent.x,
                corner.y + extent.y - static_cast<float>((px_y - y.low) / y.extent()) * extent.y};
    }
};

void draw_ticks(ImDrawList& draw, const Axes& axes, const Palette& colours) {
    const ImFont* font = fonts().small;
    const auto text_size = [&](const std::string& text) {
        return font->CalcTextSizeA(font->FontSize, 1e9F, 0, text.c_str());
    };
    const double y_step = nice_step(axes.y.extent(), std::max(2, static_cast<int>(axes.extent.y / px(46))));
    for (double y = std::ceil(axes.y.low / y_step - 1e-9) * y_step; y <= axes.y.high + y_step * 1e-9; y += y_step) {
        const ImVec2 at = axes.at(axes.x.low, y);
        draw.AddLine(at, {axes.corner.x + axes.extent.x, at.y}, with_alpha(colours.line, 0.8F));
        const std::string text = brief(std::abs(y) < y_step * 1e-9 ? 0 : y);
        const ImVec2 size = text_size(text);
        draw.AddText(font, font->FontSize, {at.x - size.x - px(6), at.y - size.y / 2}, colours.muted, text.c_str());
    }
    const double x_step =
        std::max(1.0, nice_step(axes.x.extent(), std::max(2, static_cast<int>(axes.extent.x / px(56)))));
    for (double x = std::ceil(axes.x.low / x_step - 1e-9) * x_step; x <= axes.x.high + x_step * 1e-9; x += x_step) {
        const ImVec2 at = axes.at(x, axes.y.low);
        draw.AddLine({at.x, at.y}, {at.x, at.y + px(3)}, colours.line);
        const std::string text = brief(std::abs(x) < x_step * 1e-9 ? 0 : x);
        const ImVec2 size = text_size(text);
        const float left =
            std::clamp(at.x - size.x / 2, axes.corner.x - px(20), axes.corner.x + axes.extent.x - size.x);
        draw.AddText(font, font->FontSize, {left, at.y + px(5)}, colours.muted, text.c_str());
    }
}

void draw_series(ImDrawList& draw, const Axes& axes, const Series& series) {
    std::vector<ImVec2> points;
    for (std::size_t n = 0; n < series.x.size(); ++n) {
        // A stair that goes on adds no point: doubled points would bend the line's corners.
        if (series.steps && n > 0 && n + 1 < series.x.size() && series.y[n] == series.y[n - 1]) continue;
        if (series.steps && n > 0) points.push_back(axes.at(series.x[n], series.y[n - 1]));
        if (!series.steps || n == 0 || series.y[n] != series.y[n - 1])
            points.push_back(axes.at(series.x[n], series.y[n]));
    }
    draw.AddPolyline(points.data(), static_cast<int>(points.size()), series.colour, 0, std::max(1.5F, px(1.75F)));
    if (points.size() == 1) draw.AddCircleFilled(points[0], px(3), series.colour);
}

}  // namespace

bool draw_line_plot(ImVec2 corner, ImVec2 extent, const LinePlot& plot, const Palette& colours, double* hovered_x) {
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    Range x, y;
    for (const Series& series : plot.series) {
        for (const double value : series.x) x.include(value);
        for (const double value : series.y) y.include(value);
    }
    if (!(x.extent() >= 0)) return false;
    if (x.extent() == 0) x = {x.low - 1, x.high + 1};
    y.include(0);
    if (y.extent() == 0) y.high = y.low + 1;
    y.high += 0.06 * y.extent();

    const float left = px(34), below = px(20);
    const Axes axes{{corner.x + left, corner.y}, {extent.x - left, extent.y - below}, x, y};
    const ImVec2 far_corner = {axes.corner.x + axes.extent.x, axes.corner.y + axes.extent.y};
    if (plot.shaded_beyond > 0) {
        const ImU32 shade = with_alpha(colours.muted, 0.12F);
        const float from = axes.at(std::max(-plot.shaded_beyond, x.low), 0).x,
                    to = axes.at(std::min(plot.shaded_beyond, x.high), 0).x;
        draw.AddRectFilled(axes.corner, {from, far_corner.y}, shade);
        draw.AddRectFilled({to, axes.corner.y}, far_corner, shade);
    }
    draw_ticks(draw, axes, colours);
    draw.AddRect(axes.corner, far_corner, colours.line);
    draw.PushClipRect(axes.corner, far_corner, true);
    if (plot.has_mark && plot.x_marked >= x.low && plot.x_marked <= x.high) {
        const float at = std::floor(axes.at(plot.x_marked, 0).x);
        draw.AddLine({at, axes.corner.y}, {at, far_corner.y}, with_alpha(colours.text, 0.5F));
    }
    for (const Series& series : plot.series) draw_series(draw, axes, series);
    draw.PopClipRect();
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const bool over = ImGui::IsWindowHovered() && mouse.x >= axes.corner.x && mouse.x <= far_corner.x &&
                      mouse.y >= axes.corner.y && mouse.y <= far_corner.y;
    if (over && hovered_x) *hovered_x = x.low + (mouse.x - axes.corner.x) / axes.extent.x * x.extent();
    return over;
}

}  // namespace locus::view
