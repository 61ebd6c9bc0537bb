#include "viewer/ui/side_column.h"

#include <algorithm>

namespace locus {

SideColumn::SideColumn(const Ui& ui, const Rect& room, float scrolled)
    : ui_(ui), left_(room.x0 + ui.px(16)), right_(room.x1 - ui.px(16)), y_(room.y0 + ui.px(22) - scrolled) {}

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
    ui_.spans(left_, y_, label);
    ui_.text(right_, y_, value, ui_.theme->text, strong ? Face::mono_strong : Face::mono, Align::right);
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

}  // namespace locus
