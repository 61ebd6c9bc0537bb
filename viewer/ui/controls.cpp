// The few controls the rooms share; each also has a key (see keys.cpp).
#include <algorithm>
#include <cmath>

#include "viewer/ui/ui.h"

namespace locus {

Ui::Group::Group(const Ui& ui, const char* id) : log_(ui.log) {
    ImGui::PushID(id);
    if (log_) log_->groups.emplace_back(id);
}

Ui::Group::~Group() {
    ImGui::PopID();
    if (log_) log_->groups.pop_back();
}

Ui::Scrolled::Scrolled(const Ui& ui) : log_(ui.log) {
    if (log_) ++log_->scrolled;
}

Ui::Scrolled::~Scrolled() {
    if (log_) --log_->scrolled;
}

void Ui::note(const char* id, double value) const {
    if (log) log->values.push_back({log->full_id(id), value});
}

Touch Ui::touch(const char* id, const Rect& rect) const {
    Touch touch;
    touch.at = ImGui::GetIO().MousePos;
    if (rect.width() < 1 || rect.height() < 1) return touch;
    if (log) log->items.push_back({log->full_id(id), {rect.min(), rect.max()}, draw().clip(), log->scrolled > 0});
    ImGui::SetCursorScreenPos(rect.min());
    touch.clicked = ImGui::InvisibleButton(id, {rect.width(), rect.height()});
    touch.hovered = ImGui::IsItemHovered();
    touch.held = ImGui::IsItemActive();
    touch.double_clicked = touch.hovered && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    return touch;
}

bool Ui::button(const char* id, const Rect& rect, std::string_view label, bool chosen) const {
    const Touch mouse = touch(id, rect);
    if (chosen || mouse.hovered) fill(rect, chosen ? theme->accent : theme->chip, 5);
    outline(rect, chosen ? theme->accent : theme->line, 1, 5);
    text(rect.middle_x(), rect.middle_y(), label, chosen ? theme->on_accent : theme->text, Face::ui, Align::centre);
    return mouse.clicked;
}

float Ui::stepper(const char* id, float right, float y, std::string_view shown, Index& value, Index low, Index high,
                  float room) const {
    const float arrow = px(20), number = std::max({px(20), room, text_width(shown, Face::mono) + px(4)});
    const Rect box{right - number - 2 * arrow, y - px(13), right, y + px(13)};
    fill(box, theme->panel, 5);
    outline(box, theme->line, 1, 5);
    const Group group(*this, id);
    const Touch less = touch("less", {box.x0, box.y0, box.x0 + arrow, box.y1});
    const Touch more = touch("more", {box.x1 - arrow, box.y0, box.x1, box.y1});
    if (less.clicked) value -= 1;
    if (more.clicked) value += 1;
    if (box.holds(less.at) && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) &&
        ImGui::GetIO().MouseWheel != 0)
        value += ImGui::GetIO().MouseWheel > 0 ? 1 : -1;
    value = std::clamp(value, low, high);
    const auto arrow_colour = [&](const Touch& mouse, bool possible) {
        return !possible ? faded(theme->muted, 0.4f) : mouse.hovered ? theme->text : theme->muted;
    };
    text(box.x0 + arrow / 2 + px(1), y, "\u2039", arrow_colour(less, value > low), Face::ui, Align::centre);
    text(box.x1 - arrow / 2 - px(1), y, "\u203a", arrow_colour(more, value < high), Face::ui, Align::centre);
    text(box.middle_x(), y, shown, theme->text, Face::mono, Align::centre);
    return box.x0;
}

float Ui::layer_and_head(float right, float y, Index layers, Index& layer, Index heads, Index& head) const {
    float x = stepper("head", right, y, std::to_string(head), head, 0, heads - 1) - px(6);
    x -= text(x, y, "head", theme->muted, Face::ui, Align::right) + px(8);
    x = stepper("layer", x, y, std::to_string(layer), layer, 0, layers - 1) - px(6);
    return x - text(x, y, "layer", theme->muted, Face::ui, Align::right);
}

float Ui::choice(const char* id, float x, float y, const std::vector<std::string>& labels, std::size_t& chosen) const {
    float width = 0;
    for (const std::string& label : labels) width += text_width(label) + px(22);
    const Rect box{x, y - px(13), x + width, y + px(13)};
    fill(box, theme->panel, 5);
    const Group group(*this, id);
    for (std::size_t n = 0; n < labels.size(); ++n) {
        const Rect segment{x, box.y0, x + text_width(labels[n]) + px(22), box.y1};
        const Touch mouse = touch(labels[n].c_str(), segment);
        if (mouse.clicked) chosen = n;
        const ImDrawFlags corners =
            (n == 0 ? ImDrawFlags_RoundCornersLeft : 0) | (n + 1 == labels.size() ? ImDrawFlags_RoundCornersRight : 0);
        const ImDrawFlags rounding = corners == 0 ? ImDrawFlags_RoundCornersNone : corners;
        if (n == chosen || mouse.hovered)
            draw().fill(segment.min(), segment.max(), n == chosen ? theme->accent : theme->chip, px(5), rounding);
        text(segment.middle_x(), y, labels[n], n == chosen ? theme->on_accent : theme->text, Face::ui, Align::centre);
        x = segment.x1;
    }
    outline(box, theme->line, 1, 5);
    return box.x1;
}

bool Ui::slider(const char* id, float x, float y, float width, double& value, double low, double high,
                double step) const {
    const Rect track{x, y - px(10), x + width, y + px(10)};
    const Touch mouse = touch(id, track);
    const double before = value;
    const float reach = px(6);
    const auto snapped = [&](double raw) { return std::clamp(std::round(raw / step) * step, low, high); };
    if (mouse.held) value = snapped(low + (high - low) * (mouse.at.x - x - reach) / (width - 2 * reach));
    if (mouse.hovered && ImGui::GetIO().MouseWheel != 0)
        value = snapped(value + (ImGui::GetIO().MouseWheel > 0 ? step : -step));
    const auto share = static_cast<float>(high > low ? (value - low) / (high - low) : 0);
    const float knob = x + reach + share * (width - 2 * reach);
    fill({x, y - px(1), x + width, y + px(1)}, theme->line);
    fill({x, y - px(1), knob, y + px(1)}, theme->muted);
    draw().disc({knob, y}, mouse.held ? px(6) : px(5), mouse.hovered ? theme->text : theme->muted);
    return value != before;
}

}  // namespace locus
