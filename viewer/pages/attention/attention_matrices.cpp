// The six panels of a head: the terms, their sum, what the softmax makes of it, and the curves by distance.
#include <algorithm>
#include <cmath>

#include "viewer/pages/attention/attention.h"
#include "viewer/plots/heatmap.h"
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

PanelLayout AttentionPage::arrange(const Scene& scene, const Rect& area) const {
    const Ui& ui = scene.ui;
    const Selection& selection = scene.state.attention.selection;
    const bool transposed = scene.state.attention.transposed;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float longest = std::max(widest_label(ui, *scene.answer, ui.px(96)), ui.px(44));
    PanelLayout layout{inside.x0,          inside.y0,          0,         ui.px(18),
                       longest + ui.px(6), longest + ui.px(8), ui.px(22), ui.px(22)};
    if (!(transposed ? selection.cols : selection.rows).empty()) layout.legend += ui.px(14);
    if (!(transposed ? selection.rows : selection.cols).empty()) layout.gap += ui.px(10);
    // Three columns and two rows; the other way round in a window that is higher than wide.
    for (const std::size_t columns : {3, 2}) {
        const auto across = static_cast<float>(columns), down = 6 / across;
        const float by_width = (inside.width() - layout.labels - (across - 1) * layout.gap) / across;
        const float by_height =
            (inside.height() - layout.header - down * (layout.title + layout.legend) - (down - 1) * layout.row_gap()) /
            down;
        const float side = std::floor(std::min(by_width, by_height));
        if (side <= layout.side) continue;
        layout.side = side;
        layout.columns = columns;
    }
    layout.side = std::max(layout.side, ui.px(60));
    const auto gaps = static_cast<float>(layout.columns - 1);
    const float spare = inside.width() - layout.labels - (gaps + 1) * layout.side - gaps * layout.gap;
    const float wider = std::clamp(spare / (2 * gaps), 0.0f, ui.px(36));
    layout.gap += std::floor(wider);
    layout.left += std::floor(std::max(0.0f, spare - gaps * wider) / 2);
    if (layout.columns == 2) {
        const float least = ui.px(150);  // of the curves
        layout.bottom = inside.y1 - layout.legend;
        const float left = layout.bottom - layout.cells(4).y0 - layout.legend - layout.row_gap() - layout.title - least;
        const float size = std::floor(std::min(2 * layout.side + layout.gap, left));
        if (size > 1.3f * layout.side) layout.large = size;
    }
    return layout;
}

void AttentionPage::draw_head(Scene& scene, const Rect& area) {
    State& state = scene.state;
    state.view.clamp(scene.answer->length());
    const PanelLayout layout = arrange(scene, area);
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
    draw_panel_title(scene, cells, n, cells.y0 - (layout.in_first_row(n) ? layout.header : 0) - ui.px(14));
    if (!present_[n]) return draw_absent(scene, cells, n);

    bool clicked = false;
    std::optional<Cell> cell = explore(ui, kAttentionPanels[n].stem, cells, answer.length(), state.view, clicked);
    const bool held = ImGui::IsItemActive();
    select_cells(scene, cells, cell, held, clicked);
    if (cell) cell = transposed_if(*cell, transposed);
    if (cell && !dragged_) pointed = cell;
    if (cell && clicked) {
        state.locked = !(state.locked && state.cell == *cell);
        state.cell = *cell;
    }
    const Cell shown = transposed_if(state.cell, transposed);
    heatmaps_[n].draw(ui, cells, state.view);
    if (!state.reduce_motion) draw_glow(ui, cells, state.view, glows_[n], ImGui::GetTime());
    if (n < 3 && !is_kept(kept_terms(scene), n)) ui.fill(cells, faded(ui.theme->background, 0.72f));
    heatmaps_[n].draw_crosshair(ui, cells, state.view, shown);
    draw_selection(scene, cells, n);
    const Selection& selection = state.attention.selection;
    if (layout.in_first_column(n))
        draw_row_labels(ui, answer, cells, state.view, shown.i, transposed ? selection.cols : selection.rows);
    if (layout.in_first_row(n))
        draw_column_labels(ui, answer, cells, state.view, shown.j, transposed ? selection.rows : selection.cols);
    touch_labels(scene, layout, n);
    const float legend_y = cells.y1 + layout.legend - ui.px(11);
    heatmaps_[n].draw_legend(ui, cells.x0, legend_y);
    if (n == 4 && cells.width() / static_cast<float>(state.view.shown(answer.length())) < ui.px(10))
        ui.text(cells.x1, legend_y, "wheel zooms", ui.theme->muted, Face::mono_small, Align::right);
    if (cell && !dragged_) describe(scene, *cell, n);
}

void AttentionPage::draw_absent(Scene& scene, const Rect& cells, std::size_t n) const {
    scene.ui.outline(cells, scene.ui.theme->line);
    scene.ui.paragraph(cells.x0 + scene.ui.px(16), cells.y0 + scene.ui.px(14), cells.width() - scene.ui.px(32),
                       std::string("This model was trained without the term ") + kAttentionPanels[n].title + ".",
                       scene.ui.theme->muted);
}

/// Which way queries and keys run, in the corner; a click exchanges them.
void AttentionPage::draw_axes(Scene& scene, const PanelLayout& layout) {
    const Ui& ui = scene.ui;
    bool& transposed = scene.state.attention.transposed;
    const Rect cells = layout.cells(0);
    const float right = cells.x0 - ui.px(6), low = cells.y0 - ui.px(9), high = low - ui.px(16);
    const Rect box{right - ui.px(44), high - ui.px(8), right, low + ui.px(8)};
    const Touch mouse = ui.touch("transpose", box);
    if (mouse.clicked) transposed = !transposed;
    const ImU32 colour = mouse.hovered ? ui.theme->text : ui.theme->muted;
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
    const Cell place = transposed_if(cell, scene.state.attention.transposed);
    const auto token = [&](Index t) { return scene.answer->labels[static_cast<std::size_t>(t)]; };
    const std::string value =
        heatmap.hidden(place.i, place.j) ? "hidden by the mask" : compact(heatmap.values()(place.i, place.j), 4);
    const bool dropped = n < 3 && !is_kept(kept_terms(scene), n);
    draw_tooltip(ui,
                 {{{token(cell.i), theme.text},
                   {heatmap.hidden(place.i, place.j) ? " does not see " : " looks at ", theme.muted},
                   {token(cell.j), theme.text}},
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
                        (shown_.transposed ? " transposed" : "");
    for (const bool kept : {shown_.kept.c2c, shown_.kept.c2p, shown_.kept.p2c, shown_.follows})
        place += kept ? " +" : " -";
    for (const Index masked : asked.masked) place += " " + std::to_string(masked);
    const double now = ImGui::GetTime();
    std::string counted;
    bool begins = false;
    for (std::size_t n = 0; n < values.size(); ++n) {
        if (!present_[n] || !glows_[n].update(place, to_string(asked.dialect), values[n].cast<double>(), 0, now))
            continue;
        begins = true;
        if (counted.empty() && glows_[n].count() > 0)
            counted = std::string(kAttentionPanels[n].title) + ": " + glows_[n].sentence();
    }
    if (begins && !scene.state.reduce_motion) scene.state.flash_until = now + ChangedCells::kFade;
    if (!counted.empty()) scene.state.notice = counted;
}

// Several cells at once: a rectangle drawn with the left button, rows and columns by their labels, and their means.

namespace {

/// The row or column under a place, inside the matrix.
Index cell_at(float place, float from, float size, double first, double shown, Index length) {
    const double share = static_cast<double>((place - from) / size);
    return std::clamp<Index>(static_cast<Index>(std::floor(first + share * shown)), 0, length - 1);
}

Cell cell_at(const Rect& cells, const MatrixView& view, Index length, ImVec2 place) {
    return {cell_at(place.y, cells.y0, cells.height(), view.first_i, view.shown(length), length),
            cell_at(place.x, cells.x0, cells.width(), view.first_j, view.shown(length), length)};
}

/// Calls visit(first, last) for every run of neighbours.
template <class Visit>
void for_each_run(const std::vector<Index>& numbers, Visit&& visit) {
    for (std::size_t n = 0; n < numbers.size();) {
        std::size_t last = n;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        visit(numbers[n], numbers[last]);
        n = last + 1;
    }
}

std::string counted(std::size_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

void AttentionPage::select_cells(Scene& scene, const Rect& cells, std::optional<Cell> under, bool held, bool& clicked) {
    const ImGuiIO& io = ImGui::GetIO();
    const Index length = scene.answer->length();
    State& state = scene.state;
    if (clicked && dragged_) clicked = false;  // the button came up after a rectangle was drawn
    if (clicked && io.KeyCtrl && under) {
        const Cell cell = transposed_if(*under, state.attention.transposed);
        toggle(state.attention.selection.rows, cell.i);
        clicked = false;
    }
    if (!held || !ImGui::IsMouseDragging(ImGuiMouseButton_Left, scene.ui.px(4))) return;
    dragged_ = true;
    const Cell from = cell_at(cells, state.view, length, io.MouseClickedPos[ImGuiMouseButton_Left]);
    const Cell to = cell_at(cells, state.view, length, io.MousePos);
    state.attention.selection =
        block_of(transposed_if(from, state.attention.transposed), transposed_if(to, state.attention.transposed));
}

void AttentionPage::touch_labels(Scene& scene, const PanelLayout& layout, std::size_t n) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Index length = scene.answer->length();
    const Rect cells = layout.cells(n);
    const bool transposed = state.attention.transposed;
    const auto choose = [&](bool down, Index number) {
        const bool queries = down != transposed;
        if (ImGui::GetIO().KeyCtrl)
            return toggle(queries ? state.attention.selection.rows : state.attention.selection.cols, number);
        (queries ? state.cell.i : state.cell.j) = number;
        state.locked = true;
    };
    const std::string stem = kAttentionPanels[n].stem;
    if (layout.in_first_column(n)) {
        const Rect area{cells.x0 - layout.labels, cells.y0, cells.x0 - ui.px(2), cells.y1};
        const Touch mouse = ui.touch(("rows " + stem).c_str(), area);
        if (mouse.clicked) choose(true, cell_at(cells, state.view, length, mouse.at).i);
    }
    if (layout.in_first_row(n)) {
        const Rect area{cells.x0, cells.y0 - layout.header + ui.px(4), cells.x1, cells.y0 - ui.px(2)};
        const Touch mouse = ui.touch(("columns " + stem).c_str(), area);
        if (mouse.clicked) choose(false, cell_at(cells, state.view, length, mouse.at).j);
    }
}

void AttentionPage::draw_selection(Scene& scene, const Rect& cells, std::size_t n) {
    const Ui& ui = scene.ui;
    const Selection& selection = scene.state.attention.selection;
    if (selection.empty()) return;
    const bool transposed = scene.state.attention.transposed;
    const std::vector<Index>& down = transposed ? selection.cols : selection.rows;
    const std::vector<Index>& across = transposed ? selection.rows : selection.cols;
    const MatrixView& view = scene.state.view;
    const Index length = scene.answer->length();
    const auto place = [&](Index i, Index j) { return cell_rect(cells, view, length, {i, j}); };
    const ImU32 accent = ui.theme->accent;
    for_each_run(down, [&](Index first, Index last) {
        const float y0 = std::max(cells.y0, place(first, 0).y0), y1 = std::min(cells.y1, place(last, 0).y1);
        if (y0 < y1) ui.fill({cells.x0 - ui.px(4), y0, cells.x0 - ui.px(2), y1}, accent);
    });
    for_each_run(across, [&](Index first, Index last) {
        const float x0 = std::max(cells.x0, place(0, first).x0), x1 = std::min(cells.x1, place(0, last).x1);
        if (x0 < x1) ui.fill({x0, cells.y0 - ui.px(4), x1, cells.y0 - ui.px(2)}, accent);
    });
    ui.draw().push_clip(cells.min(), cells.max());
    for_each_run(down, [&](Index first_i, Index last_i) {
        for_each_run(across, [&](Index first_j, Index last_j) {
            const Rect from = place(first_i, first_j), to = place(last_i, last_j);
            ui.outline({from.x0, from.y0, to.x1, to.y1}, accent, 2);
        });
    });
    ui.draw().pop_clip();
    if (!down.empty())
        draw_strip(scene, {cells.x0, cells.y1 + ui.px(4), cells.x1, cells.y1 + ui.px(12)}, below_[n], n, true);
    if (!across.empty())
        draw_strip(scene, {cells.x1 + ui.px(4), cells.y0, cells.x1 + ui.px(12), cells.y1}, beside_[n], n, false);
}

/// The mean over the chosen rows, for every column (or the other way round), on the scale of the matrix.
void AttentionPage::draw_strip(Scene& scene, const Rect& strip, const Heatmap& heatmap, std::size_t n, bool below) {
    const Ui& ui = scene.ui;
    const AttentionState& state = scene.state.attention;
    const Index length = scene.answer->length();
    heatmap.draw(ui, strip, scene.state.view);
    const std::string id = std::string(below ? "means below " : "means beside ") + kAttentionPanels[n].stem;
    const Touch mouse = ui.touch(id.c_str(), strip);
    if (!mouse.hovered) return;
    const Cell at = cell_at(strip, scene.state.view, length, mouse.at);
    const Index number = below ? at.j : at.i;
    const bool keys = below != state.transposed;  // the strip runs along the keys
    const std::vector<Index>& chosen = keys ? state.selection.rows : state.selection.cols;
    SelectionTotal total;
    for (const Index other : chosen) {
        const Cell cell = below ? Cell{other, number} : Cell{number, other};
        if (heatmaps_[n].hidden(cell.i, cell.j)) continue;
        total.sum += static_cast<double>(heatmaps_[n].values()(cell.i, cell.j));
        ++total.pairs;
    }
    const std::string label = scene.answer->labels[static_cast<std::size_t>(number)];
    draw_tooltip(ui, {{{label, ui.theme->text},
                       {keys ? " seen from " + counted(chosen.size(), "query", "queries")
                             : " looking at " + counted(chosen.size(), "key", "keys"),
                        ui.theme->muted}},
                      {{"sum  ", ui.theme->muted}, {compact(total.sum, 4), ui.theme->text, Face::mono}},
                      {{"mean  ", ui.theme->muted}, {compact(total.mean(), 4), ui.theme->text, Face::mono}}});
}

void AttentionPage::draw_selection_card(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    Selection& selection = scene.state.attention.selection;
    const auto queries =
        selection.rows.empty() ? static_cast<std::size_t>(scene.answer->length()) : selection.rows.size();
    const auto keys = selection.cols.empty() ? static_cast<std::size_t>(scene.answer->length()) : selection.cols.size();
    const float wide = ui.text_width("clear", Face::mono_small);
    const Touch mouse = ui.touch("clear selection", {column.right() - wide - ui.px(4), column.y() - ui.px(10),
                                                     column.right() + ui.px(4), column.y() + ui.px(10)});
    column.heading("Mean of " + std::to_string(totals_[3].pairs) + (totals_[3].pairs == 1 ? " pair" : " pairs"),
                   "clear");
    const auto named = [&](const std::vector<Index>& numbers, const char* all) {
        return numbers.empty() ? std::string(all) : runs_in_words(numbers);
    };
    const float half = column.width() / 2 - ui.px(6);
    ui.text_within(column.left(), column.y(), half, "queries " + named(selection.rows, "all"), ui.theme->muted,
                   Face::label);
    ui.text_within(column.right(), column.y(), half, "keys " + named(selection.cols, "all"), ui.theme->muted,
                   Face::label, Align::right);
    column.skip(24);
    const auto written = [&](std::size_t n) { return totals_[n].pairs > 0 ? compact(totals_[n].mean(), 4) : "none"; };
    for (std::size_t n = 0; n < 3; ++n) {
        if (!present_[n]) continue;
        const bool kept = is_kept(kept_terms(scene), n);
        const ImU32 colour = kept ? term_colour(*ui.theme, static_cast<int>(n)) : ui.theme->muted;
        column.row({{kAttentionPanels[n].title, colour}, {kept ? "" : ", dropped", ui.theme->muted}}, written(n));
    }
    column.row("score", written(3));
    column.row("probability", written(4));
    if (totals_[4].pairs > 0 && keys < static_cast<std::size_t>(scene.answer->length()))
        column.row(queries == 1 ? "of the query's attention" : "of each query's attention",
                   fixed(100 * totals_[4].sum / static_cast<double>(queries), 1) + " %", true);
    column.rule();
    if (mouse.clicked) selection = {};
}

}  // namespace locus
