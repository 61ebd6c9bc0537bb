// A, B and A − B under one view and one cursor.
#include <algorithm>
#include <cmath>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/glow.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"

namespace locus {

void ComparePage::draw_panel(Scene& scene, const Layout& layout, std::size_t n, std::optional<Cell>& pointed) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Rect cells = layout.panel(n);
    MatrixView& view = state.compare.view;
    bool clicked = false;
    const char* ids[] = {"A", "B", "A-B"};
    const auto cell = explore(ui, ids[n], cells, sheets_.rows, sheets_.cols, view, clicked);
    if (cell) pointed = cell;
    Cell& chosen = cursor(state);
    if (cell && clicked) {
        locked(state) = !(locked(state) && chosen == *cell);
        chosen = *cell;
    }
    heatmaps_[n].draw(ui, cells, view);
    if (n < 2 && !state.reduce_motion) draw_glow(ui, cells, view, glows_[n], ImGui::GetTime());
    heatmaps_[n].draw_crosshair(ui, cells, view, chosen);
    if (n == 0) draw_row_names(scene, cells, chosen.i);
    draw_column_names(scene, cells, chosen.j);
    heatmaps_[n].draw_legend(ui, cells.x0, layout.legend);
    const double values[] = {a_(chosen.i, chosen.j), b_(chosen.i, chosen.j),
                             a_(chosen.i, chosen.j) - b_(chosen.i, chosen.j)};
    ui.text(cells.x1, layout.legend, value_text(values[n]), ui.theme->text, Face::mono_strong, Align::right);
    if (cell) describe(scene, *cell);
}

void ComparePage::draw_row_names(const Scene& scene, const Rect& cells, Index chosen) const {
    const Ui& ui = scene.ui;
    const MatrixView& view = scene.state.compare.view;
    const float pitch = cell_rect(cells, view, sheets_.rows, sheets_.cols, {0, 0}).height();
    const Index every = row_words_.empty() ? std::max<Index>(1, static_cast<Index>(std::ceil(ui.px(18) / pitch))) : 1;
    const bool all = !row_words_.empty() ? pitch >= ui.px(12) : true;
    for (Index i = 0; i < sheets_.rows; ++i) {
        const Rect row = cell_rect(cells, view, sheets_.rows, sheets_.cols, {i, 0});
        // A number beside the chosen one gives way to it.
        const bool beside = i != chosen && std::abs(i - chosen) < every;
        if ((i != chosen && (!all || i % every != 0 || beside)) || row.middle_y() < cells.y0 ||
            row.middle_y() > cells.y1)
            continue;
        ui.text_within(cells.x0 - ui.px(6), row.middle_y(), ui.px(96), row_name(i),
                       i == chosen ? ui.theme->text : ui.theme->muted,
                       row_words_.empty() ? Face::mono_small : Face::label, Align::right);
    }
    float names = ui.px(24);
    for (const std::string& word : row_words_) names = std::max(names, ui.text_width(word, Face::label));
    const std::string axis = axis_in_words(sheets_.row_axis) + (sheets_.row_axis == "Tq" ? " i" : "");
    if (!sheets_.row_axis.empty())
        ui.text_upwards(cells.x0 - std::min(names, ui.px(96)) - ui.px(15),
                        cells.middle_y() + ui.text_width(axis, Face::mono_small) / 2, axis, ui.theme->muted,
                        Face::mono_small);
    ui.text(cells.x0 - ui.px(6), cells.y0 - ui.px(9), column_axis(), ui.theme->muted, Face::mono_small, Align::right);
}

void ComparePage::draw_column_names(const Scene& scene, const Rect& cells, Index chosen) const {
    const Ui& ui = scene.ui;
    const MatrixView& view = scene.state.compare.view;
    const float pitch = cell_rect(cells, view, sheets_.rows, sheets_.cols, {0, 0}).width();
    const Index every =
        column_words_.empty() ? std::max<Index>(1, static_cast<Index>(std::ceil(ui.px(30) / pitch))) : 1;
    const bool all = !column_words_.empty() ? pitch >= ui.px(14) : true;
    for (Index j = 0; j < sheets_.cols; ++j) {
        const Rect column = cell_rect(cells, view, sheets_.rows, sheets_.cols, {0, j});
        const bool beside = j != chosen && std::abs(j - chosen) < every;
        if ((j != chosen && (!all || j % every != 0 || beside)) || column.middle_x() < cells.x0 ||
            column.middle_x() > cells.x1)
            continue;
        const ImU32 ink = j == chosen ? ui.theme->text : ui.theme->muted;
        if (column_words_.empty())
            ui.text(column.middle_x(), cells.y0 - ui.px(9), column_name(j), ink, Face::mono_small, Align::centre);
        else
            ui.text_upwards(column.middle_x(), cells.y0 - ui.px(5), ui.cut(column_name(j), ui.px(96), Face::label), ink,
                            Face::label);
    }
}

void ComparePage::describe(Scene& scene, Cell cell) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const double a = a_(cell.i, cell.j), b = b_(cell.i, cell.j);
    const double ulp = ulp_distance(static_cast<float>(a), static_cast<float>(b));
    const bool is_locked = locked(scene.state), here = cursor(scene.state) == cell;
    draw_tooltip(ui, {{{place_in_words(cell), theme.text}},
                      {{"A ", theme.muted}, {value_text(a), theme.text, Face::mono}},
                      {{"B ", theme.muted}, {value_text(b), theme.text, Face::mono}},
                      {{"A \u2212 B ", theme.muted},
                       {value_text(a - b), theme.text, Face::mono},
                       {"   " + brief(ulp) + " float32 steps", theme.muted, Face::mono_small}},
                      {{is_locked ? (here ? "locked: click or Esc unlocks" : "click moves the lock here, Esc unlocks")
                                  : "click locks this cell",
                        theme.muted, Face::label}}});
}

void ComparePage::draw_profile(Scene& scene, const Rect& room) const {
    const Ui& ui = scene.ui;
    if (room.height() < ui.px(70)) return;
    const bool square = sheets_.rows == sheets_.cols && counts_tokens(sheets_.row_axis);
    const Cell chosen = cursor(scene.state);
    const Index first = square ? 1 - sheets_.rows : 0, last = sheets_.rows - 1;
    std::vector<double> most(static_cast<std::size_t>(last - first + 1), 0), mean = most, count = most;
    for (Index i = 0; i < sheets_.rows; ++i)
        for (Index j = 0; j < sheets_.cols; ++j) {
            const auto at = static_cast<std::size_t>((square ? i - j : i) - first);
            const double gap = std::abs(a_(i, j) - b_(i, j));
            if (!std::isfinite(gap)) continue;
            most[at] = std::max(most[at], gap);
            mean[at] += gap;
            count[at] += 1;
        }
    for (std::size_t n = 0; n < mean.size(); ++n) mean[n] = count[n] > 0 ? mean[n] / count[n] : std::nan("");
    LinePlot plot;
    plot.first_x = static_cast<double>(first);
    plot.x_name = square ? "i \u2212 j" : axis_in_words(sheets_.row_axis);
    plot.decimals = 4;
    plot.marked_x = static_cast<double>(square ? chosen.i - chosen.j : chosen.i);
    plot.high = *std::max_element(most.begin(), most.end()) * 1.06;
    if (plot.high == 0) plot.high = 1.06;
    plot.curves = {{mean, ui.theme->muted, "mean"}, {most, ui.theme->accent, "largest"}};
    const float y = room.y0 + ui.px(8);
    const std::string title =
        square ? "|A \u2212 B| by distance" : "|A \u2212 B| by " + axis_in_words(sheets_.row_axis);
    float x = room.x0 + ui.text(room.x0, y, title, ui.theme->text, Face::title) + ui.px(20);
    for (const Curve& curve : plot.curves) {
        ui.fill({x, y - ui.px(1), x + ui.px(14), y + ui.px(1)}, curve.colour);
        x += ui.px(20);
        x += ui.text(x, y, curve.name, ui.theme->muted, Face::label) + ui.px(16);
    }
    ui.text(room.x1, y, square ? "to the right \u2190 i \u2212 j \u2192 to the left" : plot.x_name, ui.theme->muted,
            Face::mono_small, Align::right);
    draw_line_plot(ui, "profile", {room.x0 - ui.px(8), room.y0 + ui.px(20), room.x1, room.y1}, plot);
}

}  // namespace locus
