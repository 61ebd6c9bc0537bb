// Two matrices over the same pairs, and the staircase between them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "viewer/pages/positions/positions.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/ticks.h"

namespace locus {

void PositionsPage::draw_matrix(Scene& scene, const Rect& cells, int which, std::optional<Cell>& pointed) {
    const Ui& ui = scene.ui;
    PositionsState& state = scene.state.positions;
    const Heatmap& heatmap = which == 0 ? offsets_ : rows_;
    const float title_y = cells.y0 - ui.px(30);
    ui.text(cells.x0, title_y, which == 0 ? "how far is j from i?" : "which row of the table?", ui.theme->text,
            Face::title);
    ui.text(cells.x1, title_y, which == 0 ? "i \u2212 j" : "\u03b4(i, j)", ui.theme->muted, Face::mono_small,
            Align::right);
    bool clicked = false;
    const auto length = static_cast<Index>(state.length);
    const std::optional<Cell> cell = explore(ui, which == 0 ? "offsets" : "rows", cells, length, state.view, clicked);
    state.view.clamp(length);
    if (cell) pointed = cell;
    if (cell && clicked) {
        state.locked = !(state.locked && state.cell == *cell);
        state.cell = *cell;
    }
    heatmap.draw(ui, cells, state.view);
    draw_diagonal(scene, cells);
    if (which == 1) draw_edge(scene, cells);
    heatmap.draw_crosshair(ui, cells, state.view, state.cell);
    draw_numbers(scene, cells);
    heatmap.draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    if (which == 1)
        ui.text(cells.x1, cells.y1 + ui.px(11),
                std::to_string(2 * line_->span()) + " rows, " + std::to_string(line_->runs().size()) + " runs",
                ui.theme->muted, Face::mono_small, Align::right);
    else
        ui.text(cells.x1, cells.y1 + ui.px(11), "equal along diagonals", ui.theme->muted, Face::mono_small,
                Align::right);
}

void PositionsPage::draw_numbers(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const auto length = static_cast<Index>(state.length);
    const double side = state.view.shown(length);
    const auto fit = static_cast<int>(cells.width() / ui.px(36));
    const auto ticks = [&](double first) { return whole_ticks(std::ceil(first), std::floor(first + side - 1), fit); };
    for (const double tick : ticks(state.view.first_i)) {
        const Rect row = cell_rect(cells, state.view, length, {static_cast<Index>(tick), 0});
        ui.text(cells.x0 - ui.px(6), row.middle_y(), whole(static_cast<Index>(tick)),
                static_cast<Index>(tick) == state.cell.i ? ui.theme->text : ui.theme->muted, Face::mono_small,
                Align::right);
    }
    for (const double tick : ticks(state.view.first_j)) {
        const Rect column = cell_rect(cells, state.view, length, {0, static_cast<Index>(tick)});
        ui.text(column.middle_x(), cells.y0 - ui.px(9), whole(static_cast<Index>(tick)),
                static_cast<Index>(tick) == state.cell.j ? ui.theme->text : ui.theme->muted, Face::mono_small,
                Align::centre);
    }
}

void PositionsPage::draw_diagonal(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const auto length = static_cast<Index>(state.length);
    const Index offset = state.cell.i - state.cell.j, row = line_->row(state.cell.i, state.cell.j);
    ui.draw().push_clip(cells.min(), cells.max());
    for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) {
            if (line_->row(i, j) != row) continue;
            const bool same_offset = i - j == offset;  // the others only share the row
            ui.fill(cell_rect(cells, state.view, length, {i, j}), faded(ui.theme->text, same_offset ? 0.45f : 0.16f));
        }
    ui.draw().pop_clip();
}

void PositionsPage::draw_edge(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const PositionsState& state = scene.state.positions;
    const auto length = static_cast<Index>(state.length);
    const auto is_edge = [&](Index i, Index j) { return part_of(state, i - j) == Part::edge; };
    ui.draw().push_clip(cells.min(), cells.max());
    // The border between the clamped corners and the cells that still have a row of their own; first a wider one in the
    // background's colour, so that it stands out on every shade.
    for (const bool halo : {true, false})
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j) {
                const ImU32 colour = halo ? ui.theme->background : ui.theme->p2p;
                const float width = halo ? ui.px(2) : ui.px(1);
                const Rect cell = cell_rect(cells, state.view, length, {i, j});
                if (j > 0 && is_edge(i, j) != is_edge(i, j - 1))
                    ui.fill({cell.x0 - width, cell.y0 - width, cell.x0 + width, cell.y1 + width}, colour);
                if (i > 0 && is_edge(i, j) != is_edge(i - 1, j))
                    ui.fill({cell.x0 - width, cell.y0 - width, cell.x1 + width, cell.y0 + width}, colour);
            }
    ui.draw().pop_clip();
}

void PositionsPage::draw_staircase(Scene& scene, const Rect& room) {
    const Ui& ui = scene.ui;
    PositionsState& state = scene.state.positions;
    ui.text(room.x0, room.y0 + ui.px(8), "from offset to row", ui.theme->text, Face::title);
    ui.text(room.x1, room.y0 + ui.px(8), "row over i \u2212 j", ui.theme->muted, Face::mono_small, Align::right);
    // One curve per part of the line, so that each keeps its colour; a gap where another part goes on.
    const auto length = static_cast<Index>(state.length);
    const double nothing = std::numeric_limits<double>::quiet_NaN();
    LinePlot plot;
    plot.first_x = static_cast<double>(1 - length);
    plot.steps = true;
    plot.x_name = "i \u2212 j";
    plot.decimals = 0;
    plot.high = static_cast<double>(2 * line_->span());
    plot.marked_x = static_cast<double>(state.cell.i - state.cell.j);
    const std::vector<double> empty(static_cast<std::size_t>(2 * length - 1), nothing);
    plot.curves = {{empty, ui.theme->text, "its own row"},
                   {empty, ui.theme->muted, "logarithm"},
                   {empty, ui.theme->p2p, "clamped"}};
    for (Index offset = 1 - length; offset < length; ++offset)
        plot.curves[static_cast<std::size_t>(part_of(state, offset))]
            .values[static_cast<std::size_t>(offset + length - 1)] = static_cast<double>(line_->row_of_offset(offset));
    float x = room.x0 + ui.text_width("from offset to row", Face::title) + ui.px(20);
    for (const Curve& curve : plot.curves) {
        if (state.kind == 0 && curve.name == "logarithm") continue;
        ui.fill({x, room.y0 + ui.px(7), x + ui.px(14), room.y0 + ui.px(9)}, curve.colour);
        x += ui.px(20);
        x += ui.text(x, room.y0 + ui.px(8), curve.name, ui.theme->muted, Face::label) + ui.px(16);
    }
    const auto under =
        draw_line_plot(ui, "staircase", {room.x0 - ui.px(8), room.y0 + ui.px(22), room.x1, room.y1}, plot);
    if (!under || state.locked) return;
    const auto offset = static_cast<Index>(*under);
    state.cell = offset >= 0 ? Cell{std::max(offset, state.cell.i), 0} : Cell{0, 0};
    state.cell.j = state.cell.i - offset;
    if (state.cell.j >= length) state.cell = {length - 1 + offset, length - 1};
}

}  // namespace locus
