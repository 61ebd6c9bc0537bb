// Several cells at once: a rectangle drawn with the left button, rows and columns by their labels, and their means.
#include <algorithm>
#include <cmath>

#include "viewer/pages/attention/attention.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"

namespace locus {

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
        const Cell cell = turned(*under, state.attention.transposed);
        toggle(state.attention.selection.rows, cell.i);
        clicked = false;
    }
    if (!held || !ImGui::IsMouseDragging(ImGuiMouseButton_Left, scene.ui.px(4))) return;
    dragged_ = true;
    const Cell from = cell_at(cells, state.view, length, io.MouseClickedPos[ImGuiMouseButton_Left]);
    const Cell to = cell_at(cells, state.view, length, io.MousePos);
    state.attention.selection =
        block_of(turned(from, state.attention.transposed), turned(to, state.attention.transposed));
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
    if (n % 3 == 0) {
        const Rect room{cells.x0 - layout.labels, cells.y0, cells.x0 - ui.px(2), cells.y1};
        const Touch mouse = ui.touch(("rows " + stem).c_str(), room);
        if (mouse.clicked) choose(true, cell_at(cells, state.view, length, mouse.at).i);
    }
    if (n < 3) {
        const Rect room{cells.x0, cells.y0 - layout.header + ui.px(4), cells.x1, cells.y0 - ui.px(2)};
        const Touch mouse = ui.touch(("columns " + stem).c_str(), room);
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
                      {{"sum  ", ui.theme->muted}, {fixed(total.sum, 4), ui.theme->text, Face::mono}},
                      {{"mean  ", ui.theme->muted}, {fixed(total.mean(), 4), ui.theme->text, Face::mono}}});
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
    const auto written = [&](std::size_t n) { return totals_[n].pairs > 0 ? fixed(totals_[n].mean(), 4) : "none"; };
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
