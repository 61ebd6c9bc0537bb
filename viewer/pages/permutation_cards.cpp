// The cards that can be dragged, and the two masks that follow from their order.
#include <algorithm>
#include <cmath>

#include "viewer/pages/permutation.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/strokes.h"

namespace locus {

namespace {

void draw_hidden(const Ui& ui, const Rect& cell) {
    ui.fill(cell, to_colour(ui.theme->hidden));
    for (float s = ui.px(4); s < cell.width() + cell.height(); s += ui.px(6)) {
        const float from = std::max(0.0f, s - cell.width()), to = std::min(cell.height(), s);
        if (from < to)
            ui.draw().line({cell.x0 + s - from, cell.y0 + from}, {cell.x0 + s - to, cell.y0 + to},
                           faded(ui.theme->muted, 0.4f), 1);
    }
}

/// A cell of a mask: hatched where it is closed, else as strong as the attention that goes there.
void draw_cell(const Ui& ui, const Rect& box, bool visible, std::optional<float> weight, ImU32 colour) {
    const Rect inner{box.x0, box.y0, box.x1 - ui.px(1), box.y1 - ui.px(1)};
    if (!visible) return draw_hidden(ui, inner);
    const ImU32 open = mixed(ui.theme->background, colour, weight ? 0.2f : 0.75f);
    ui.fill(inner, mixed(open, colour, weight.value_or(0)));
    if (!weight || *weight < 0.095f || box.width() < ui.px(22)) return;
    const std::string number = fixed(static_cast<double>(*weight), 2);
    ui.text(box.middle_x(), box.middle_y(), number.substr(number.front() == '0' ? 1 : 0),
            *weight > 0.6f ? ui.theme->background : ui.theme->text, Face::mono_tiny, Align::centre);
}

/// What lies left and right of the divider, and a hint where there is room.  predicted: where its first card begins.
void draw_card_titles(const Ui& ui, const Rect& room, std::optional<float> predicted) {
    const char* hint = "drag a card, or Shift \u2190 \u2192";
    const float y = room.y0 + ui.px(6), gap = ui.px(16), wide = ui.text_width(hint, Face::mono_small);
    const std::string first = predicted ? "given, in any order" : "predicted, from left to right";
    float end = room.x0 + ui.text(room.x0, y, first, ui.theme->text, Face::title);
    const bool hinted = !predicted || *predicted - end >= wide + 2 * gap;
    if (hinted) ui.text(end + gap, y, hint, ui.theme->muted, Face::mono_small);
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
    PermutationState& state = scene.state.permutation;
    const CardRow& row = cards(state);
    const bool has_given = !given_of(row).empty();
    CardPlaces places{room.x0, 0, has_given ? ui.px(34) : ui.px(14)};
    places.pitch =
        std::floor(std::min(ui.px(118), (room.width() - places.divider) / static_cast<float>(row.size() - 1)));
    draw_card_titles(ui, room, has_given ? std::optional(places.edge(row, slot_of(row, kDivider) + 1)) : std::nullopt);
    const Rect lane{room.x0, room.y0 + ui.px(22), room.x1, room.y1};
    // The dragged card last, above the others.
    std::size_t on_top = row.size();
    for (std::size_t slot = 0; slot < row.size(); ++slot)
        if (row[slot] == dragged_)
            on_top = slot;
        else
            draw_card(scene, places, lane, slot);
    if (on_top < row.size()) draw_card(scene, places, lane, on_top);
}

void PermutationPage::draw_card(Scene& scene, const CardPlaces& places, const Rect& room, std::size_t slot) {
    const Ui& ui = scene.ui;
    PermutationState& state = scene.state.permutation;
    CardRow& row = cards(state);
    const Index position = row[slot];
    const bool divider = position == kDivider, dragged = dragged_ == position;
    float left = places.edge(row, slot);
    const float wide = (divider ? places.divider : places.pitch) - ui.px(6);
    if (dragged) left = std::clamp(ImGui::GetIO().MousePos.x - grip_, room.x0, room.x1 - wide);
    const Rect box{left, room.y0, left + wide, room.y1};
    const Touch mouse = ui.touch(("card" + std::to_string(position)).c_str(), box);
    if (mouse.held && !dragged) {
        dragged_ = position;
        grip_ = mouse.at.x - left;
        state.card = static_cast<Index>(slot);
        if (!divider) state.row = position;
    }
    if (!mouse.held && dragged) dragged_ = kDivider - 1;
    if (divider) {
        const float x = std::floor(box.middle_x() - ui.px(1));
        ui.fill({x, box.y0, x + ui.px(2), box.y1}, mouse.hovered || dragged ? ui.theme->text : ui.theme->muted);
        ui.draw().disc({x + ui.px(1), box.middle_y()}, ui.px(5), mouse.hovered ? ui.theme->text : ui.theme->muted);
    } else {
        const std::vector<Index> predicted = predicted_of(row);
        const auto at = std::find(predicted.begin(), predicted.end(), position);
        const bool given = at == predicted.end(), shown = position == shown_row(state);
        ui.fill(box, given ? ui.theme->chip : mixed(ui.theme->panel, ui.theme->c2p, 0.16f), 6);
        ui.outline(box,
                   shown           ? ui.theme->accent
                   : mouse.hovered ? ui.theme->muted
                   : given         ? ui.theme->line
                                   : ui.theme->c2p,
                   shown ? 2 : 1, 6);
        ui.text_within(box.middle_x(), box.y0 + box.height() * 0.46f, wide - ui.px(8), word(state, position),
                       ui.theme->text, Face::ui, Align::centre);
        if (!given)
            ui.text(box.x0 + ui.px(8), box.y0 + ui.px(13), std::to_string(at - predicted.begin() + 1) + ".",
                    ui.theme->c2p, Face::mono_small);
        ui.text_within(box.middle_x(), box.y1 - ui.px(13), wide - ui.px(4), "position " + std::to_string(position + 1),
                       ui.theme->muted, Face::mono_tiny, Align::centre);
    }
    if (!dragged || !ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2)) return;
    const std::size_t to = places.slot_at(row, mouse.at.x);
    if (to == slot) return;
    row = moved(row, slot, to);
    state.card = static_cast<Index>(slot_of(row, position));
}

void PermutationPage::draw_mask(Scene& scene, const Rect& cells, bool query, bool labels) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    PermutationState& state = scene.state.permutation;
    const Visibility& visible = query ? visible_.query : visible_.content;
    const Index length = visible.rows(), chosen = shown_row(state);
    const ImU32 colour = query ? theme.c2p : theme.c2c;
    const float title_y = cells.y0 - ui.px(58) - ui.px(13);
    ui.text(cells.x0, title_y, query ? "query stream g" : "content stream h", colour, Face::title);
    ui.text(cells.x1, title_y, query ? "sees who came before" : "and itself", theme.muted, Face::mono_small,
            Align::right);
    const std::vector<Index> given = given_of(cards(state));
    const Touch mouse = ui.touch(query ? "g" : "h", cells);
    for (Index i = 0; i < length; ++i) {
        const bool none = query && std::find(given.begin(), given.end(), i) != given.end();
        for (Index j = 0; j < length && !none; ++j)
            draw_cell(ui, whole_cell_rect(cells, length, length, {i, j}), visible(i, j) != 0,
                      attention(state, query, i, j), colour);
        const Rect row = whole_cell_rect(cells, length, length, {i, 0});
        const ImU32 ink = i == chosen ? theme.text : theme.muted;
        if (none)
            ui.text(cells.x0 + ui.px(6), row.middle_y(), "given: nothing to predict", faded(theme.muted, 0.8f),
                    Face::label);
        if (labels)
            ui.text_within(cells.x0 - ui.px(6), row.middle_y(), ui.px(54), word(state, i), ink, Face::label,
                           Align::right);
    }
    for (Index j = 0; j < length; ++j) {
        const Rect column = whole_cell_rect(cells, length, length, {0, j});
        ui.text_upwards(column.middle_x(), cells.y0 - ui.px(5), ui.cut(word(state, j), ui.px(52), Face::label),
                        theme.muted, Face::label);
    }
    const Rect row = whole_cell_rect(cells, length, length, {chosen, 0});
    ui.outline({cells.x0 - ui.px(2), row.y0 - ui.px(2), cells.x1 + ui.px(1), row.y1 + ui.px(1)}, theme.accent, 2, 3);
    if (!mouse.hovered) return;
    const auto at = [&](float share) {
        return std::clamp<Index>(static_cast<Index>(share * static_cast<float>(length)), 0, length - 1);
    };
    const Index i = at((mouse.at.y - cells.y0) / cells.height()), j = at((mouse.at.x - cells.x0) / cells.width());
    if (mouse.clicked) state.row = i;
    const bool sees = visible(i, j);
    std::vector<std::vector<Span>> lines = {{{word(state, i), theme.text},
                                             {sees ? " sees " : " does not see ", theme.muted},
                                             {word(state, j), theme.text}}};
    if (const auto weight = attention(state, query, i, j); weight && sees)
        lines.push_back(
            {{"probability  ", theme.muted}, {fixed(static_cast<double>(*weight), 4), theme.text, Face::mono}});
    lines.push_back({{sees_in_words(cards(state), i), theme.muted, Face::label}});
    lines.push_back({{"click explains this row", theme.muted, Face::label}});
    draw_tooltip(ui, lines);
}

}  // namespace locus
