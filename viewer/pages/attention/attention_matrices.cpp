// The six panels of a head: the terms, their sum, what the softmax makes of it, and the curves by distance.
#include <algorithm>
#include <cmath>

#include "viewer/pages/attention/attention.h"
#include "viewer/plots/glow.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"

namespace locus {

bool draw_check_box(const Ui& ui, const char* id, ImVec2 left_middle, ImU32 colour, bool checked, bool& hovered) {
    const Rect box{left_middle.x, left_middle.y - ui.px(6), left_middle.x + ui.px(12), left_middle.y + ui.px(6)};
    const Touch mouse = ui.touch(id, box.inset(-ui.px(3), -ui.px(5)));
    hovered = mouse.hovered;
    if (checked) {
        ui.fill(box, colour, 3);
        const ImVec2 tick[] = {{box.x0 + ui.px(3), left_middle.y},
                               {box.x0 + ui.px(5), left_middle.y + ui.px(3)},
                               {box.x0 + ui.px(9), left_middle.y - ui.px(3)}};
        ui.draw().polyline(tick, 3, ui.theme->background, ui.px(1.75f));
    }
    ui.outline(box, mouse.hovered ? ui.theme->text : colour, 1, 3);
    return mouse.clicked;
}

PanelLayout AttentionPage::arrange(const Scene& scene, const Rect& room) const {
    const Ui& ui = scene.ui;
    const Selection& selection = scene.state.attention.selection;
    const bool transposed = scene.state.attention.transposed;
    const Rect inside = room.inset(ui.px(16), ui.px(12));
    const float longest = std::max(widest_label(ui, *scene.answer, ui.px(96)), ui.px(44));
    PanelLayout layout{inside.x0,          inside.y0,          0,         ui.px(18),
                       longest + ui.px(6), longest + ui.px(8), ui.px(22), ui.px(22)};
    if (!(transposed ? selection.cols : selection.rows).empty()) layout.legend += ui.px(14);
    if (!(transposed ? selection.rows : selection.cols).empty()) layout.gap += ui.px(10);
    const float by_width = (inside.width() - layout.labels - 2 * layout.gap) / 3;
    const float by_height =
        (inside.height() - 2 * (layout.title + layout.legend) - layout.row_gap() - layout.header) / 2;
    layout.side = std::floor(std::min(by_width, by_height));
    layout.side = std::max(layout.side, ui.px(60));
    const float spare = inside.width() - layout.labels - 3 * layout.side - 2 * layout.gap;
    const float wider = std::clamp(spare / 4, 0.0f, ui.px(36));
    layout.gap += std::floor(wider);
    layout.left += std::floor(std::max(0.0f, spare - 2 * wider) / 2);
    return layout;
}

void AttentionPage::draw_head(Scene& scene, const Rect& room) {
    State& state = scene.state;
    state.view.clamp(scene.answer->length());
    const PanelLayout layout = arrange(scene, room);
    std::optional<Cell> pointed;
    for (std::size_t n = 0; n < kAttentionPanels.size(); ++n) draw_panel(scene, layout, n, pointed);
    if (pointed && !state.locked) state.cell = *pointed;
    draw_axes(scene, layout);
    draw_curves(scene, layout.cells(5));
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) dragged_ = false;
}

void AttentionPage::draw_panel_title(Scene& scene, const Rect& cells, std::size_t n, float y) {
    const Ui& ui = scene.ui;
    const AttentionPanel& panel = kAttentionPanels[n];
    if (n == 3) {
        ui.text(cells.x0, y, panel.title, ui.theme->text, Face::title);
        return draw_scale_switch(scene, cells, y);
    }
    ui.text(cells.x1, y, panel.note, ui.theme->muted, Face::mono_small, Align::right);
    if (n > 3 || !present_[n]) {
        const ImU32 colour = n > 3 ? ui.theme->text : term_colour(*ui.theme, static_cast<int>(n));
        ui.text(cells.x0, y, panel.title, colour, Face::title);
        return;
    }
    const bool kept = is_kept(kept_terms(scene), n);
    const ImU32 colour = kept ? term_colour(*ui.theme, static_cast<int>(n)) : ui.theme->muted;
    bool hovered = false;
    const std::string id = std::string("keep ") + panel.stem;
    if (draw_check_box(ui, id.c_str(), {cells.x0, y}, colour, kept, hovered)) {
        if (scene.session.config().talking_head)
            scene.state.notice =
                "this model mixes its heads before the softmax: no head can be computed without a term";
        else
            kept_flag(scene.state.attention.kept, n) = !kept;
    }
    ui.text(cells.x0 + ui.px(19), y, panel.title, colour, Face::title);
    if (hovered)
        draw_tooltip(
            ui, {{{kept ? "in the sum: click drops the term" : "dropped: click brings the term back", ui.theme->text}},
                 {{"only this head is computed anew, not the layers after it", ui.theme->muted, Face::label}}});
}

void AttentionPage::draw_scale_switch(Scene& scene, const Rect& cells, float y) {
    const Ui& ui = scene.ui;
    AttentionState& state = scene.state.attention;
    const std::string note = "sum / \u221a(" + std::to_string(divisor_terms_) + "\u00b7" +
                             std::to_string(scene.session.config().attention_head_size) + ")";
    const float width = ui.text(cells.x1, y, note, ui.theme->muted, Face::mono_small, Align::right);
    if (kept_terms(scene).all()) return;
    bool hovered = false;
    if (draw_check_box(ui, "scale follows", {cells.x1 - width - ui.px(18), y}, ui.theme->muted, state.scale_follows,
                       hovered))
        state.scale_follows = !state.scale_follows;
    if (hovered)
        draw_tooltip(ui, {{{state.scale_follows ? "the scale follows: n counts the terms that are left"
                                                : "the scale stays: n still counts every term of the model",
                            ui.theme->text}},
                          {{state.scale_follows ? "click keeps the model's n" : "click lets n follow", ui.theme->muted,
                            Face::label}}});
}

void AttentionPage::draw_panel(Scene& scene, const PanelLayout& layout, std::size_t n, std::optional<Cell>& pointed) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Answer& answer = *scene.answer;
    const bool transposed = state.attention.transposed;
    const Rect cells = layout.cells(n);
    const bool first_row = n < 3;
    draw_panel_title(scene, cells, n, cells.y0 - (first_row ? layout.header : 0) - ui.px(14));
    if (!present_[n]) return draw_absent(scene, cells, n);

    bool clicked = false;
    std::optional<Cell> cell = explore(ui, kAttentionPanels[n].stem, cells, answer.length(), state.view, clicked);
    const bool held = ImGui::IsItemActive();
    select_cells(scene, cells, cell, held, clicked);
    if (cell) cell = turned(*cell, transposed);
    if (cell && !dragged_) pointed = cell;
    if (cell && clicked) {
        state.locked = !(state.locked && state.cell == *cell);
        state.cell = *cell;
    }
    const Cell shown = turned(state.cell, transposed);
    heatmaps_[n].draw(ui, cells, state.view);
    if (!state.reduce_motion) draw_glow(ui, cells, state.view, glows_[n], ImGui::GetTime());
    if (first_row && !is_kept(kept_terms(scene), n)) ui.fill(cells, faded(ui.theme->background, 0.72f));
    heatmaps_[n].draw_crosshair(ui, cells, state.view, shown);
    draw_selection(scene, cells, n);
    const Selection& selection = state.attention.selection;
    if (n % 3 == 0)
        draw_row_labels(ui, answer, cells, state.view, shown.i, transposed ? selection.cols : selection.rows);
    if (first_row)
        draw_column_labels(ui, answer, cells, state.view, shown.j, transposed ? selection.rows : selection.cols);
    touch_labels(scene, layout, n);
    const float legend_y = cells.y1 + layout.legend - ui.px(11);
    heatmaps_[n].draw_legend(ui, cells.x0, legend_y);
    if (n == 4 && layout.side / static_cast<float>(state.view.shown(answer.length())) < ui.px(10))
        ui.text(cells.x1, legend_y, "wheel zooms", ui.theme->muted, Face::mono_small, Align::right);
    if (cell && !dragged_) describe(scene, *cell, n);
}

void AttentionPage::draw_absent(Scene& scene, const Rect& cells, std::size_t n) const {
    scene.ui.outline(cells, scene.ui.theme->line);
    scene.ui.paragraph(cells.x0 + scene.ui.px(16), cells.y0 + scene.ui.px(14), cells.width() - scene.ui.px(32),
                       std::string("This model was trained without the term ") + kAttentionPanels[n].title + ".",
                       scene.ui.theme->muted);
}

/// Which way queries and keys run, in the corner; a click turns them.
void AttentionPage::draw_axes(Scene& scene, const PanelLayout& layout) {
    const Ui& ui = scene.ui;
    bool& transposed = scene.state.attention.transposed;
    const Rect cells = layout.cells(0);
    const float right = cells.x0 - ui.px(6), low = cells.y0 - ui.px(9), high = low - ui.px(16);
    const Rect box{right - ui.px(44), high - ui.px(8), right, low + ui.px(8)};
    const Touch mouse = ui.touch("transpose", box);
    if (mouse.clicked) transposed = !transposed;
    const ImU32 colour = mouse.hovered ? ui.theme->text : faded(ui.theme->muted, 0.8f);
    ui.text(right, high, transposed ? "query i \u2192" : "key j \u2192", colour, Face::tiny, Align::right);
    ui.text(right, low, transposed ? "key j \u2193" : "query i \u2193", colour, Face::tiny, Align::right);
    if (mouse.hovered)
        draw_tooltip(
            ui, {{{transposed ? "a column is a query i, a row is a key j" : "a row is a query i, a column is a key j",
                   ui.theme->text}},
                 {{"click exchanges rows and columns", ui.theme->muted, Face::label}}});
}

void AttentionPage::describe(const Scene& scene, Cell cell, std::size_t n) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const Heatmap& heatmap = heatmaps_[n];
    const Cell place = turned(cell, scene.state.attention.transposed);
    const auto token = [&](Index t) { return scene.answer->labels[static_cast<std::size_t>(t)]; };
    const std::string value =
        heatmap.hidden(place.i, place.j) ? "hidden by the mask" : fixed(heatmap.values()(place.i, place.j), 4);
    const bool dropped = n < 3 && !is_kept(kept_terms(scene), n);
    draw_tooltip(ui,
                 {{{token(cell.i), theme.text}, {" looks at ", theme.muted}, {token(cell.j), theme.text}},
                  {{"i " + std::to_string(cell.i) + "  j " + std::to_string(cell.j) + "  " + direction(cell.i - cell.j),
                    theme.muted, Face::mono_small}},
                  {{std::string(kAttentionPanels[n].title) + (dropped ? ", dropped  " : "  "), theme.muted},
                   {value, theme.text, Face::mono}},
                  {{scene.state.locked ? (scene.state.cell == cell ? "locked: click or Esc unlocks"
                                                                   : "click moves the lock here, Esc unlocks")
                                       : "click locks this cell, dragging selects",
                    theme.muted, Face::label}}});
}

/// Cells that another dialect has changed light up once and are counted.
void AttentionPage::glow(Scene& scene, const std::array<Matrix<float>, 5>& values) {
    const Request& asked = scene.answer->request;
    std::string place = asked.text + "\n" + asked.tokens + "\n" + scene.state.model + " " +
                        std::to_string(asked.layer) + " " + std::to_string(shown_.head) +
                        (shown_.transposed ? " turned" : "");
    for (const bool kept : {shown_.kept.c2c, shown_.kept.c2p, shown_.kept.p2c, shown_.follows})
        place += kept ? " +" : " -";
    for (const Index masked : asked.masked) place += " " + std::to_string(masked);
    const double now = ImGui::GetTime();
    std::string counted;
    bool begins = false;
    for (std::size_t n = 0; n < values.size(); ++n) {
        if (!present_[n] || !glows_[n].follow(place, to_string(asked.dialect), values[n].cast<double>(), 0, now))
            continue;
        begins = true;
        if (counted.empty() && glows_[n].count() > 0)
            counted = std::string(kAttentionPanels[n].title) + ": " + glows_[n].sentence();
    }
    if (begins && !scene.state.reduce_motion) scene.state.flash_until = now + ChangedCells::kFade;
    if (!counted.empty()) scene.state.notice = counted;
}

}  // namespace locus
