// The cards: a click says who is predicted, dragging says when.
#include <algorithm>
#include <cmath>

#include "viewer/pages/permutation/permutation.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/ui.h"

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

/// What is left and right of the divider, and a hint where it fits.  predicted: where its first card begins.
void draw_card_titles(const Ui& ui, const Rect& area, std::optional<float> predicted, bool has_given, bool scrolls) {
    const char* hint = scrolls ? "click: predict or give; drag; wheel" : "click: predict or give; drag: the order";
    const float y = area.y0 + ui.px(6), gap = ui.px(16), wide = ui.text_width(hint, Face::mono_small);
    const std::string first = scrolls     ? "given, then predicted"
                              : has_given ? "given, in any order"
                                          : "predicted, from left to right";
    float end = area.x0 + ui.text(area.x0, y, first, ui.theme->text, Face::title);
    const bool hinted = !predicted || *predicted - end >= wide + 2 * gap;
    if (hinted) ui.text_within(end + gap, y, area.x1 - end - gap, hint, ui.theme->muted, Face::mono_small);
    if (!predicted) return;
    const std::string second = "predicted, in this order";
    const float x = std::min(std::max(*predicted, end + gap), area.x1 - ui.text_width(second, Face::title));
    end = x + ui.text(x, y, second, ui.theme->text, Face::title);
    if (!hinted && area.x1 - end >= wide + gap)
        ui.text(area.x1, y, hint, ui.theme->muted, Face::mono_small, Align::right);
}

}  // namespace

void PermutationPage::draw_cards(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    const CardRow row = cards(state);
    const bool has_given = !given_of(row).empty();
    CardPlaces places{area.x0, 0, has_given ? ui.px(34) : ui.px(14)};
    const float slots = static_cast<float>(row.size()) - 1;
    places.pitch = std::floor(std::min(ui.px(118), (area.width() - places.divider) / std::max(1.0f, slots)));
    const Rect lane{area.x0, area.y0 + ui.px(22), area.x1, area.y1};
    const float narrowest = ui.px(60);
    if (places.pitch < narrowest) {
        // Too many to lie side by side: the lane moves under the wheel, and opens at what is predicted.
        places.pitch = narrowest;
        const float most = std::max(0.0f, slots + 1 - (area.width() - places.divider) / narrowest);
        if (scroll_ < 0) scroll_ = most;
        if (lane.holds(ImGui::GetIO().MousePos)) scroll_ -= Ui::scrolled_by(2 * narrowest, true) / narrowest;
        scroll_ = std::clamp(scroll_, 0.0f, most);
        places.left -= std::floor(scroll_ * narrowest);
    }
    const bool scrolls = places.left < area.x0 || places.edge(row, row.size()) > area.x1 + ui.px(8);
    const float first = places.edge(row, slot_of(row, kDivider) + 1);
    draw_card_titles(ui, area, has_given && !scrolls ? std::optional(first) : std::nullopt, has_given, scrolls);
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
    const bool padding = visible_of_ && visible_of_->is_padding(position);
    if (padding)
        draw_hidden(ui, box.inset(ui.px(1), ui.px(1)));
    else
        ui.fill(box, given ? ui.theme->chip : mixed(ui.theme->panel, ui.theme->c2p, 0.16f), 6);
    ui.outline(box,
               shown     ? ui.theme->accent
               : hovered ? ui.theme->muted
               : given   ? ui.theme->line
                         : ui.theme->c2p,
               shown ? 2 : 1, 6);
    ui.text(box.middle_x(), box.y0 + box.height() * 0.46f,
            cut_token(ui, word(state, position), box.width() - ui.px(8), Face::ui),
            padding ? ui.theme->muted : ui.theme->text, Face::ui, Align::centre);
    if (!given)
        ui.text(box.x0 + ui.px(8), box.y0 + ui.px(13), std::to_string(at - predicted.begin() + 1) + ".", ui.theme->c2p,
                Face::mono_small);
    const std::string place = (box.width() >= ui.px(76) ? "position " : "") + std::to_string(position + 1);
    ui.text_within(box.middle_x(), box.y1 - ui.px(13), box.width() - ui.px(4), place, ui.theme->muted, Face::mono_tiny,
                   Align::centre);
}

// The two masks that follow from the order, as strong as the attention that goes through them.

namespace {

/// A cell of a mask: hatched where it is closed, else as strong as the attention that goes there.
void draw_open_cell(const Ui& ui, const Rect& box, bool visible, std::optional<float> weight, ImU32 colour) {
    const Rect inner{box.x0, box.y0, box.x1 - ui.px(1), box.y1 - ui.px(1)};
    if (!visible) return draw_hidden(ui, inner);
    const ImU32 open = mixed(ui.theme->background, colour, weight ? 0.2f : 0.75f);
    ui.fill(inner, mixed(open, colour, weight.value_or(0)));
    if (!weight || *weight < 0.095f || box.width() < ui.px(22)) return;
    const std::string number = fixed(static_cast<double>(*weight), 2);
    ui.text(box.middle_x(), box.middle_y(), number.substr(number.front() == '0' ? 1 : 0),
            *weight > 0.6f ? ui.theme->background : ui.theme->text, Face::mono_tiny, Align::centre);
}

}  // namespace

void PermutationPage::choose_cell(PermutationState& state, bool query, Cell cell) const {
    const std::size_t stream = query ? 1 : 0;
    state.locked = !(state.locked && state.cell == cell && state.stream == stream && state.side > 0);
    state.cell = cell;
    state.stream = stream;
    state.row = cell.i;
    if (runs_model(state) && state.side == 0) state.side = 1;
}

void PermutationPage::draw_mask(Scene& scene, const Rect& cells, bool query, bool labels) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    PermutationState& state = scene.state.permutation;
    const Visibility& visible = query ? visible_.query : visible_.content;
    const Index length = visible.rows(), chosen = shown_row(state);
    const float title_y = cells.y0 - ui.px(58) - ui.px(13);
    const char* note = query ? "sees who came before" : "and itself";
    const char* name = query ? "query stream g" : "content stream h";
    const float wide = ui.text(cells.x0, title_y, name, query ? theme.c2p : theme.c2c, Face::title);
    if (cells.width() - wide > ui.text_width(note, Face::mono_small) + ui.px(8))
        ui.text(cells.x1, title_y, note, theme.muted, Face::mono_small, Align::right);
    const Touch mouse = ui.touch(query ? "g" : "h", cells);
    const bool small = cells.width() < ui.px(11) * static_cast<float>(length);
    if (small)
        draw_mask_texture(scene, cells, query);
    else
        draw_mask_cells(scene, cells, query, labels);
    const Rect row = whole_cell_rect(cells, length, length, {chosen, 0});
    ui.outline({cells.x0 - ui.px(2), row.y0 - ui.px(2), cells.x1 + ui.px(1), row.y1 + ui.px(1)}, theme.accent, 2, 3);
    if (runs_model(state) && state.side > 0 && (state.stream == 1) == query)
        ui.outline(whole_cell_rect(cells, length, length, state.cell).inset(-ui.px(1), -ui.px(1)), theme.text, 2, 2);
    if (!mouse.hovered) return;
    const auto at = [&](float share) {
        return std::clamp<Index>(static_cast<Index>(share * static_cast<float>(length)), 0, length - 1);
    };
    const Cell under{at((mouse.at.y - cells.y0) / cells.height()), at((mouse.at.x - cells.x0) / cells.width())};
    if (mouse.clicked) choose_cell(state, query, under);
    const bool sees = visible(under.i, under.j) != 0;
    std::vector<std::vector<Span>> lines = {{{word(state, under.i), theme.text},
                                             {sees ? " sees " : " does not see ", theme.muted},
                                             {word(state, under.j), theme.text}}};
    if (const auto weight = attention(state, query, under.i, under.j); weight && sees)
        lines.push_back(
            {{"probability  ", theme.muted}, {compact(static_cast<double>(*weight), 4), theme.text, Face::mono}});
    if (!visible_of_ || visible_of_->hides_more().empty())
        lines.push_back({{sees_in_words(cards(state), under.i), theme.muted, Face::label}});
    lines.push_back(
        {{runs_model(state) ? "click takes it apart" : "click explains this row", theme.muted, Face::label}});
    draw_tooltip(ui, lines);
}

void PermutationPage::draw_mask_texture(Scene& scene, const Rect& cells, bool query) {
    const Ui& ui = scene.ui;
    const PermutationState& state = scene.state.permutation;
    masks_[query ? 1 : 0].draw(ui, cells);
    masks_[query ? 1 : 0].draw_legend(ui, cells.x0, cells.y0 - ui.px(30));
    const auto given = static_cast<Index>(given_of(cards(state)).size());
    if (query && 2 * given > visible_.query.rows())
        ui.paragraph(cells.x0 + ui.px(12), cells.y0 + ui.px(12), cells.width() - ui.px(24),
                     "Rows of the " + grouped(given) + " given words are empty: there is nothing to predict.",
                     ui.theme->muted);
    if (!query)
        ui.text(cells.x0 - ui.px(6),
                whole_cell_rect(cells, visible_.query.rows(), visible_.query.rows(), {shown_row(state), 0}).middle_y(),
                cut_token(ui, word(state, shown_row(state)), ui.px(54), Face::label), ui.theme->text, Face::label,
                Align::right);
}

void PermutationPage::draw_mask_cells(const Scene& scene, const Rect& cells, bool query, bool labels) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const PermutationState& state = scene.state.permutation;
    const Visibility& visible = query ? visible_.query : visible_.content;
    const Index length = visible.rows(), chosen = shown_row(state);
    const ImU32 colour = query ? theme.c2p : theme.c2c;
    const std::vector<Index> given = given_of(cards(state));
    for (Index i = 0; i < length; ++i) {
        const bool none = query && std::find(given.begin(), given.end(), i) != given.end();
        for (Index j = 0; j < length && !none; ++j)
            draw_open_cell(ui, whole_cell_rect(cells, length, length, {i, j}), visible(i, j) != 0,
                           attention(state, query, i, j), colour);
        const Rect row = whole_cell_rect(cells, length, length, {i, 0});
        if (none && row.height() >= ui.px(14))
            ui.text_within(cells.x0 + ui.px(6), row.middle_y(), cells.width() - ui.px(8), "given: nothing to predict",
                           theme.muted, Face::label);
        if (labels)
            ui.text(cells.x0 - ui.px(6), row.middle_y(), cut_token(ui, word(state, i), ui.px(54), Face::label),
                    i == chosen ? theme.text : theme.muted, Face::label, Align::right);
    }
    for (Index j = 0; j < length; ++j) {
        const Rect column = whole_cell_rect(cells, length, length, {0, j});
        ui.text_upwards(column.middle_x(), cells.y0 - ui.px(5), cut_token(ui, word(state, j), ui.px(52), Face::label),
                        theme.muted, Face::label);
    }
}

}  // namespace locus
