// The cards: a click says who is predicted, dragging says when.
#include <algorithm>
#include <cmath>

#include "viewer/pages/permutation/permutation.h"
#include "viewer/ui/line_styles.h"

namespace locus {

namespace {

/// What lies left and right of the divider, and a hint where there is room.  predicted: where its first card begins.
void draw_card_titles(const Ui& ui, const Rect& room, std::optional<float> predicted, bool has_given, bool scrolls) {
    const char* hint = scrolls ? "click: predict or give; drag; wheel" : "click: predict or give; drag: the order";
    const float y = room.y0 + ui.px(6), gap = ui.px(16), wide = ui.text_width(hint, Face::mono_small);
    const std::string first = scrolls     ? "given, then predicted"
                              : has_given ? "given, in any order"
                                          : "predicted, from left to right";
    float end = room.x0 + ui.text(room.x0, y, first, ui.theme->text, Face::title);
    const bool hinted = !predicted || *predicted - end >= wide + 2 * gap;
    if (hinted) ui.text_within(end + gap, y, room.x1 - end - gap, hint, ui.theme->muted, Face::mono_small);
    if (!predicted) return;
    const std::string second = "predicted, in this order";
    const float x = std::min(std::max(*predicted, end + gap), room.x1 - ui.text_width(second, Face::title));
    end = x + ui.text(x, y, second, ui.theme->text, Face::title);
    if (!hinted && room.x1 - end >= wide + gap)
        ui.text(room.x1, y, hint, ui.theme->muted, Face::mono_small, Align::right);
}

}  // namespace

void PermutationPage::draw_cards(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const CardRow row = cards(state);
    const bool has_given = !given_of(row).empty();
    CardPlaces places{room.x0, 0, has_given ? ui.px(34) : ui.px(14)};
    const float slots = static_cast<float>(row.size()) - 1;
    places.pitch = std::floor(std::min(ui.px(118), (room.width() - places.divider) / std::max(1.0f, slots)));
    const Rect lane{room.x0, room.y0 + ui.px(22), room.x1, room.y1};
    const float narrowest = ui.px(60);
    if (places.pitch < narrowest) {
        // Too many to lie side by side: the lane moves under the wheel, and opens at what is predicted.
        places.pitch = narrowest;
        const float most = std::max(0.0f, slots + 1 - (room.width() - places.divider) / narrowest);
        if (scroll_ < 0) scroll_ = most;
        if (lane.holds(ImGui::GetIO().MousePos)) scroll_ -= 2 * ImGui::GetIO().MouseWheel;
        scroll_ = std::clamp(scroll_, 0.0f, most);
        places.left -= std::floor(scroll_ * narrowest);
    }
    const bool scrolls = places.left < room.x0 || places.edge(row, row.size()) > room.x1 + ui.px(8);
    const float first = places.edge(row, slot_of(row, kDivider) + 1);
    draw_card_titles(ui, room, has_given && !scrolls ? std::optional(first) : std::nullopt, has_given, scrolls);
    ui.draw().push_clip({lane.x0 - ui.px(2), lane.y0 - ui.px(2)}, {lane.x1 + ui.px(2), lane.y1 + ui.px(2)});
    // The dragged card last, above the others.
    std::size_t on_top = row.size();
    for (std::size_t slot = 0; slot < row.size(); ++slot) {
        if (row[slot] == dragged_)
            on_top = slot;
        else if (places.edge(row, slot + 1) > lane.x0 && places.edge(row, slot) < lane.x1)
            draw_card(scene, places, lane, slot);
    }
    if (on_top < row.size()) draw_card(scene, places, lane, on_top);
    ui.draw().pop_clip();
}

void PermutationPage::draw_card(Scene& scene, const CardPlaces& places, const Rect& lane, std::size_t slot) {
    const Ui& ui = scene.ui;
    PermutationState& state = scene.state.permutation;
    const CardRow row = cards(state);
    const Index position = row[slot];
    const bool divider = position == kDivider, dragged = dragged_ == position;
    float left = places.edge(row, slot);
    const float wide = (divider ? places.divider : places.pitch) - ui.px(6);
    if (dragged && moved_) left = std::clamp(ImGui::GetIO().MousePos.x - grip_, lane.x0, lane.x1 - wide);
    const Rect box{left, lane.y0, left + wide, lane.y1};
    const Touch mouse = ui.touch(("card" + std::to_string(position)).c_str(), box);
    if (mouse.held && !dragged) {
        dragged_ = position;
        moved_ = false;
        grip_ = mouse.at.x - left;
        state.card = static_cast<Index>(slot);
        if (!divider) state.row = position;
    }
    if (dragged && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 4)) moved_ = true;
    if (divider) {
        const float x = std::floor(box.middle_x() - ui.px(1));
        ui.fill({x, box.y0, x + ui.px(2), box.y1}, mouse.hovered || dragged ? ui.theme->text : ui.theme->muted);
        ui.draw().disc({x + ui.px(1), box.middle_y()}, ui.px(5), mouse.hovered ? ui.theme->text : ui.theme->muted);
    } else {
        draw_card_face(scene, box, position, mouse.hovered);
    }
    if (mouse.held && moved_) {
        const std::size_t to = places.slot_at(row, mouse.at.x);
        if (to == slot) return;
        const CardRow after = moved(row, slot, to);
        set_cards(state, after);
        state.card = static_cast<Index>(slot_of(after, position));
    }
    if (mouse.held || !dragged) return;
    dragged_ = kDivider - 1;
    if (moved_ || divider || !mouse.clicked) return;
    // Let go where it was taken: a click.
    const CardRow after = toggled(row, position);
    set_cards(state, after);
    state.card = static_cast<Index>(slot_of(after, position));
}

void PermutationPage::draw_card_face(const Scene& scene, const Rect& box, Index position, bool hovered) const {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const std::vector<Index> predicted = predicted_of(cards(state));
    const auto at = std::find(predicted.begin(), predicted.end(), position);
    const bool given = at == predicted.end(), shown = position == shown_row(state);
    ui.fill(box, given ? ui.theme->chip : mixed(ui.theme->panel, ui.theme->c2p, 0.16f), 6);
    ui.outline(box,
               shown     ? ui.theme->accent
               : hovered ? ui.theme->muted
               : given   ? ui.theme->line
                         : ui.theme->c2p,
               shown ? 2 : 1, 6);
    ui.text_within(box.middle_x(), box.y0 + box.height() * 0.46f, box.width() - ui.px(8), word(state, position),
                   ui.theme->text, Face::ui, Align::centre);
    if (!given)
        ui.text(box.x0 + ui.px(8), box.y0 + ui.px(13), std::to_string(at - predicted.begin() + 1) + ".", ui.theme->c2p,
                Face::mono_small);
    const std::string place = (box.width() >= ui.px(76) ? "position " : "") + std::to_string(position + 1);
    ui.text_within(box.middle_x(), box.y1 - ui.px(13), box.width() - ui.px(4), place, ui.theme->muted, Face::mono_tiny,
                   Align::centre);
}

}  // namespace locus
