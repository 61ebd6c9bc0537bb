#include "viewer/ui/side_column.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/number_format.h"

namespace locus {

SideColumn::SideColumn(const Ui& ui, const Rect& area, float scrolled)
    : ui_(ui), left_(area.x0 + ui.px(16)), right_(area.x1 - ui.px(16)), y_(area.y0 + ui.px(22) - scrolled) {}

void SideColumn::heading(const std::string& title, const std::string& note) {
    heading(std::vector<Span>{{title, ui_.theme->text, Face::title}}, note);
}

void SideColumn::heading(const std::vector<Span>& title, const std::string& note) {
    ui_.spans(left_, y_, title);
    ui_.text(right_, y_, note, ui_.theme->muted, Face::mono_small, Align::right);
    skip(26);
}

void SideColumn::row(const std::string& label, const std::string& value, bool strong) {
    row(std::vector<Span>{{label, ui_.theme->muted}}, value, strong);
}

void SideColumn::row(const std::vector<Span>& label, const std::string& value, bool strong) {
    const Face face = strong ? Face::mono_strong : Face::mono;
    const float words = ui_.spans(left_, y_, label);
    if (words + ui_.px(4) + ui_.text_width(value, face) > width()) skip(19);  // a long value has a line of its own
    ui_.text(right_, y_, value, ui_.theme->text, face, Align::right);
    skip(23);
}

void SideColumn::bar(const std::vector<Span>& label, ImU32 colour, double share, const std::string& value) {
    ui_.spans(left_, y_, label);
    const float from = left_ + ui_.px(78), length = right_ - ui_.px(72) - from;
    const auto end = from + std::max(ui_.px(2), static_cast<float>(std::clamp(share, 0.0, 1.0)) * length);
    ui_.fill({from, y_ - ui_.px(5), end, y_ + ui_.px(5)}, colour, 2.5f);
    ui_.text(right_, y_, value, ui_.theme->text, Face::mono, Align::right);
}

void SideColumn::sentence(const std::string& text, bool muted) {
    const float top = y_ - ui_.px(11);
    y_ = top + ui_.paragraph(left_, top, width(), text, muted ? ui_.theme->muted : ui_.theme->text) + ui_.px(17);
}

void SideColumn::rule() {
    skip(1);
    ui_.hairline_across(left_, right_, y_ - ui_.px(3));
    skip(18);
}

bool SideColumn::link(const std::string& text) {
    const float wide = ui_.text_width(text) + ui_.px(14);
    const Touch mouse = ui_.touch(text.c_str(), {left_, y_ - ui_.px(10), left_ + wide, y_ + ui_.px(10)});
    ui_.text(left_, y_, text + " \u2197", mouse.hovered ? ui_.theme->text : ui_.theme->muted);
    skip(23);
    return mouse.clicked;
}

void draw_product_chart(const Ui& ui, SideColumn& column, const char* id, const ProductChart& chart) {
    double low = 0, high = 0;
    for (const double product : chart.products)
        if (std::isfinite(product)) {
            low = std::min(low, product);
            high = std::max(high, product);
        }
    const Rect area{column.left(), column.y() - ui.px(9), column.right(), column.y() + ui.px(43)};
    const Touch mouse = ui.touch(id, area);
    const double reach = high > low ? high - low : 1;
    const auto y = [&](double value) { return area.y1 - static_cast<float>((value - low) / reach) * area.height(); };
    const auto count = static_cast<float>(chart.products.size());
    std::string hint = "point at a bar for its channel";
    for (std::size_t c = 0; c < chart.products.size(); ++c) {
        const auto n = static_cast<float>(c);
        const Rect slot{area.x0 + area.width() * n / count, area.y0, area.x0 + area.width() * (n + 1) / count, area.y1};
        const bool under = mouse.hovered && slot.holds(mouse.at);
        const double product = chart.products[c];
        const float gap = slot.width() > ui.px(4) ? ui.px(1) : 0;
        const float top = std::floor(y(std::max(0.0, product))), bottom = std::floor(y(std::min(0.0, product)));
        ui.fill({std::floor(slot.x0), top, std::floor(slot.x1) - gap, std::max(bottom, top + ui.px(1))},
                under          ? ui.theme->text
                : product >= 0 ? chart.colour
                               : ui.theme->muted);
        if (under)
            hint = std::to_string(c) + ":  " + compact(chart.left[c], 3) + " \u00b7 " + compact(chart.right[c], 3) +
                   " = " + compact(product, 3) + ", \u03a3 " + compact(chart.running[c], 3);
    }
    ui.text_within(area.x1, area.y1 + ui.px(12), column.width(), hint, ui.theme->muted, Face::mono_small, Align::right);
    column.skip(76);
}

void draw_scroll_bar(const Ui& ui, const Rect& area, float height, float scrolled) {
    const float over = height - area.height();
    if (over <= 0) return;
    const float length = area.height() * area.height() / height;
    const float from = area.y0 + (area.height() - length) * scrolled / over;
    ui.fill({area.x1 - ui.px(5), from, area.x1 - ui.px(2), from + length}, faded(ui.theme->muted, 0.5f), 1.5f);
}

void scroll_column(const Ui& ui, const SideColumn& column, const Rect& area, float& scrolled) {
    // The next line would begin below what was written last; that one needs half of its height, and a little room.
    const float written = column.y() + scrolled - ui.px(13) - area.y0;
    const float height = written > area.height() ? written + ui.px(7) : 0;
    draw_scroll_bar(ui, area, height, scrolled);
    if (area.holds(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        scrolled -= Ui::scrolled_by(ui.px(48));
    scrolled = std::clamp(scrolled, 0.0f, std::max(0.0f, height - area.height()));
}

void draw_lesson_links(Scene& scene, SideColumn& column, const std::vector<LessonLink>& lessons) {
    const auto label = [](const LessonLink& lesson) {
        return std::string("Lesson ") + lesson.number + " \u00b7 " + lesson.title;
    };
    // A title too long for the column takes the word "Lesson" from all of them.
    std::size_t skipped = 0;
    for (const LessonLink& lesson : lessons)
        if (scene.ui.text_width(label(lesson) + " \u2197") > column.width()) skipped = std::string("Lesson ").size();
    for (const LessonLink& lesson : lessons) {
        if (!column.link(label(lesson).substr(skipped))) continue;
        const std::string command = "./locus lesson " + std::to_string(std::stoi(lesson.number));
        ImGui::SetClipboardText(command.c_str());
        scene.state.notice = "copied: " + command;
    }
}

}  // namespace locus
