// A, B and B − A under one view and one cursor.
#include <imgui_stdlib.h>  // after imgui.h, which it does not include
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "viewer/pages/compare/compare.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/popup.h"

namespace locus {

void ComparePage::draw_panel(Scene& scene, const Layout& layout, std::size_t n, std::optional<Cell>& pointed) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Rect cells = layout.panel(n);
    MatrixView& view = state.compare.view;
    bool clicked = false;
    const char* ids[] = {"A", "B", "B-A"};
    const auto cell = explore(ui, ids[n], cells, matrices_.rows, matrices_.cols, view, clicked);
    if (cell) pointed = cell;
    Cell& chosen = cursor(state);
    if (cell && clicked) {
        locked(state) = !(locked(state) && chosen == *cell);
        chosen = *cell;
    }
    heatmaps_[n].draw(ui, cells, view);
    if (n < 2 && !state.reduce_motion) draw_glow(ui, cells, view, glows_[n], ImGui::GetTime());
    heatmaps_[n].draw_crosshair(ui, cells, view, chosen);
    if (n == 0 || (n == 2 && layout.large)) draw_row_names(scene, cells, chosen.i);
    draw_column_names(scene, cells, chosen.j);
    const float legend = cells.y1 + ui.px(12);
    heatmaps_[n].draw_legend(ui, cells.x0, legend);
    const double values[] = {a_(chosen.i, chosen.j), b_(chosen.i, chosen.j),
                             b_(chosen.i, chosen.j) - a_(chosen.i, chosen.j)};
    ui.text(cells.x1, legend, value_text(values[n]), ui.theme->text, Face::mono_strong, Align::right);
    if (cell) describe(scene, *cell);
}

/// How far one row or column is from the next, of `count` in `length`; less than a pixel where they are many.
float ComparePage::pitch_of(float length, const MatrixView& view, Index count) const {
    const Index all = std::max(matrices_.rows, matrices_.cols);
    return length / static_cast<float>(count) * static_cast<float>(static_cast<double>(all) / view.shown(all));
}

void ComparePage::draw_row_names(const Scene& scene, const Rect& cells, Index chosen) const {
    const Ui& ui = scene.ui;
    const MatrixView& view = scene.state.compare.view;
    const float pitch = pitch_of(cells.height(), view, matrices_.rows);
    const Index every = row_words_.empty() ? std::max<Index>(1, static_cast<Index>(std::ceil(ui.px(18) / pitch))) : 1;
    const bool all = !row_words_.empty() ? pitch >= ui.px(12) : true;
    for (Index i = 0; i < matrices_.rows; ++i) {
        const Rect row = cell_rect(cells, view, matrices_.rows, matrices_.cols, {i, 0});
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
    const std::string axis = axis_in_words(matrices_.row_axis) + (matrices_.row_axis == "Tq" ? " i" : "");
    if (!matrices_.row_axis.empty())
        ui.text_upwards(cells.x0 - std::min(names, ui.px(96)) - ui.px(15),
                        cells.middle_y() + ui.text_width(axis, Face::mono_small) / 2, axis, ui.theme->muted,
                        Face::mono_small);
    ui.text(cells.x0 - ui.px(6), cells.y0 - ui.px(9), column_axis(), ui.theme->muted, Face::mono_small, Align::right);
}

void ComparePage::draw_column_names(const Scene& scene, const Rect& cells, Index chosen) const {
    const Ui& ui = scene.ui;
    const MatrixView& view = scene.state.compare.view;
    const float pitch = pitch_of(cells.width(), view, matrices_.cols);
    const Index every =
        column_words_.empty() ? std::max<Index>(1, static_cast<Index>(std::ceil(ui.px(30) / pitch))) : 1;
    const bool all = !column_words_.empty() ? pitch >= ui.px(14) : true;
    for (Index j = 0; j < matrices_.cols; ++j) {
        const Rect column = cell_rect(cells, view, matrices_.rows, matrices_.cols, {0, j});
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
                      {{"B \u2212 A ", theme.muted},
                       {value_text(b - a), theme.text, Face::mono},
                       {"   " + steps_text(ulp) + " float32 steps", theme.muted, Face::mono_small}},
                      {{is_locked ? (here ? "locked: click or Esc unlocks" : "click moves the lock here, Esc unlocks")
                                  : "click locks this cell",
                        theme.muted, Face::label}}});
}

void ComparePage::draw_profile(Scene& scene, const Rect& area) const {
    const Ui& ui = scene.ui;
    if (area.height() < ui.px(70)) return;
    const bool square = matrices_.rows == matrices_.cols && counts_tokens(matrices_.row_axis);
    const Cell chosen = cursor(scene.state);
    const Index first = square ? 1 - matrices_.rows : 0, last = matrices_.rows - 1;
    std::vector<double> most(static_cast<std::size_t>(last - first + 1), 0), mean = most, count = most;
    for (Index i = 0; i < matrices_.rows; ++i)
        for (Index j = 0; j < matrices_.cols; ++j) {
            const auto at = static_cast<std::size_t>((square ? i - j : i) - first);
            const double gap = std::abs(a_(i, j) - b_(i, j));
            if (!std::isfinite(gap)) continue;
            most[at] = std::max(most[at], gap);
            mean[at] += gap;
            count[at] += 1;
        }
    double high = 0;
    for (std::size_t n = 0; n < mean.size(); ++n) {
        high = std::max(high, most[n]);
        mean[n] = count[n] > 0 ? mean[n] / count[n] : std::nan("");
        if (count[n] == 0) most[n] = std::nan("");  // a gap in both curves: nothing there is a number
    }
    LinePlot plot;
    plot.first_x = static_cast<double>(first);
    plot.x_name = square ? "i \u2212 j" : axis_in_words(matrices_.row_axis);
    plot.decimals = 4;
    plot.marked_x = static_cast<double>(square ? chosen.i - chosen.j : chosen.i);
    plot.high = high * 1.06;
    if (plot.high == 0) plot.high = 1.06;
    plot.curves = {{mean, ui.theme->muted, "mean"}, {most, ui.theme->accent, "largest"}};
    const float y = area.y0 + ui.px(8);
    const std::string title =
        square ? "|B \u2212 A| by distance" : "|B \u2212 A| by " + axis_in_words(matrices_.row_axis);
    float x = area.x0 + ui.text(area.x0, y, title, ui.theme->text, Face::title) + ui.px(20);
    for (const Curve& curve : plot.curves) {
        ui.fill({x, y - ui.px(1), x + ui.px(14), y + ui.px(1)}, curve.colour);
        x += ui.px(20);
        x += ui.text(x, y, curve.name, ui.theme->muted, Face::label) + ui.px(16);
    }
    ui.text(area.x1, y, square ? "to the right \u2190 i \u2212 j \u2192 to the left" : plot.x_name, ui.theme->muted,
            Face::mono_small, Align::right);
    draw_line_plot(ui, "profile", {area.x0 - ui.px(8), area.y0 + ui.px(20), area.x1, area.y1}, plot);
}

// One line per side: which model, which sentence, which formulas, which numbers, where in the model.

namespace {

constexpr float kLine = 30, kGap = 6, kPopup = 420;  // design pixels

/// A box with a word and a mark that it opens a list; opens the popup `id` when clicked.
Rect draw_picker(const Ui& ui, const char* id, float x, float y, float width, const std::string& label, bool own) {
    const Rect box{x, y - ui.px(12), x + width, y + ui.px(12)};
    const Touch mouse = ui.touch(id, box);
    if (mouse.clicked) ImGui::OpenPopup(id);
    ui.fill(box, mouse.hovered ? ui.theme->chip : ui.theme->panel, 5);
    ui.outline(box, own ? ui.theme->accent : ui.theme->line, 1, 5);
    ui.text_within(box.x0 + ui.px(8), y, width - ui.px(26), label, ui.theme->text, Face::label);
    const float tip = box.x1 - ui.px(11);
    ui.draw().triangle({tip - ui.px(3.5f), y - ui.px(2)}, {tip + ui.px(3.5f), y - ui.px(2)}, {tip, y + ui.px(2.5f)},
                       ui.theme->muted);
    return box;
}

/// A box to write in at the end of a popup; true once Enter is pressed, and the popup closes.
bool draw_box(const Ui& ui, const char* id, const char* hint, std::string& typed) {
    ImGui::SetNextItemWidth(ui.px(300));
    if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
    ui.fonts->require(typed);
    const bool entered = ImGui::InputTextWithHint(id, hint, &typed, ImGuiInputTextFlags_EnterReturnsTrue);
    if (entered) ImGui::CloseCurrentPopup();
    return entered;
}

std::string formulas_in_words(const CompareSide& side) {
    return side.mistake.empty() ? to_string(side.dialect) : "mistake " + side.mistake;
}

}  // namespace

float ComparePage::draw_sides(Scene& scene, const Rect& area) {
    if (scene.state.compare.report) return 0;
    const Ui& ui = scene.ui;
    for (std::size_t side = 0; side < 2; ++side)
        draw_side_line(scene, area, area.y0 + ui.px(22) + static_cast<float>(side) * ui.px(kLine), side);
    const float height = ui.px(12 + 2 * kLine);
    ui.hairline_across(area.x0, area.x1, area.y0 + height - ui.px(1));
    return height;
}

void ComparePage::draw_side_line(Scene& scene, const Rect& area, float y, std::size_t side) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    CompareSide& source = side == 0 ? state.a : state.b;
    const ImGuiID scope = side == 0 ? 1 : 2;
    const Ui::Group group(ui, side == 0 ? "of A" : "of B");
    ImGui::PushID(static_cast<int>(scope));
    float x = area.x0 + ui.px(16);
    ui.text(x, y, side == 0 ? "A" : "B", ui.theme->text, Face::title);
    x += ui.px(18);
    if (!source.file.empty()) {
        const float end = area.x1 - ui.px(16);
        const std::string label = "use the model";
        const float wide = ui.text_width(label) + ui.px(20);
        if (ui.button("model again", {end - wide, y - ui.px(12), end, y + ui.px(12)}, label)) source = {};
        ui.text_within(x, y, end - wide - ui.px(12) - x, source.file, ui.theme->text, Face::mono_small);
    } else {
        const float right = draw_place(scene, area.x1 - ui.px(16), y, side) - ui.px(12);
        const float model = ui.px(96), formulas = ui.px(108), numbers = ui.px(92), gap = ui.px(kGap);
        draw_model_picker(scene, x, y, model, source);
        x += model + gap;
        const float sentence = std::max(ui.px(60), right - x - formulas - numbers - 2 * gap);
        draw_sentence_picker(scene, x, y, sentence, source);
        x += sentence + gap;
        draw_formula_picker(scene, x, y, formulas, side);
        x += formulas + gap;
        draw_number_picker(scene, x, y, numbers, source);
    }
    ImGui::PopID();
}

void ComparePage::draw_model_picker(Scene& scene, float x, float y, float width, CompareSide& source) {
    const Ui& ui = scene.ui;
    const std::string folder = std::filesystem::path(source.model).filename().string();
    const std::string label = source.model.empty() ? scene.session.name() : folder.empty() ? source.model : folder;
    const Rect box = draw_picker(ui, "model", x, y, width, label, !source.model.empty());
    draw_popup(ui, "model", box, ui.px(kPopup), Face::ui, [&] {
        if (ImGui::IsWindowAppearing()) typed_ = source.model;
        if (draw_box(ui, "##folder", "folder of another DeBERTa, then Enter", typed_)) source.model = typed_;
        if (ImGui::Selectable(("the opened one: " + scene.session.name()).c_str(), source.model.empty()))
            source.model.clear();
    });
}

void ComparePage::draw_sentence_picker(Scene& scene, float x, float y, float width, CompareSide& source) {
    const Ui& ui = scene.ui;
    const std::string label = source.text.empty() ? "the sentence above" : source.text;
    const Rect box = draw_picker(ui, "sentence", x, y, width, label, !source.text.empty());
    draw_popup(ui, "sentence", box, ui.px(kPopup), Face::ui, [&] {
        if (ImGui::IsWindowAppearing()) typed_ = source.text;
        if (draw_box(ui, "##sentence", "a sentence of its own, then Enter", typed_)) source.text = typed_;
        if (ImGui::Selectable("the sentence above", source.text.empty())) source.text.clear();
    });
}

void ComparePage::draw_formula_picker(Scene& scene, float x, float y, float width, std::size_t side) {
    CompareState& state = scene.state.compare;
    CompareSide& source = side == 0 ? state.a : state.b;
    const Rect box = draw_picker(scene.ui, "formulas", x, y, width, formulas_in_words(source), false);
    draw_popup(scene.ui, "formulas", box, scene.ui.px(kPopup), Face::ui, [&] {
        for (const Dialect dialect : {Dialect::paper, Dialect::official, Dialect::hf})
            if (ImGui::Selectable(to_string(dialect), dialect == source.dialect)) source.dialect = dialect;
        ImGui::Separator();
        if (!source.mistake.empty() && ImGui::Selectable("no mistake")) source.mistake.clear();
        if (side == 1 && ImGui::Selectable("a mistake of the catalogue \u2026")) state.shows_mistakes = true;
    });
}

void ComparePage::draw_number_picker(Scene& scene, float x, float y, float width, CompareSide& source) {
    const std::string label = std::string(source.exact ? "f64" : "f32") + (source.gpu ? " \u00b7 GPU" : " \u00b7 CPU");
    const Rect box = draw_picker(scene.ui, "numbers", x, y, width, label, false);
    draw_popup(scene.ui, "numbers", box, scene.ui.px(kPopup), Face::ui, [&] {
        if (ImGui::Selectable("f32, single precision", !source.exact)) source.exact = false;
        if (ImGui::Selectable("f64, double precision", source.exact)) source.exact = true;
        ImGui::Separator();
        if (ImGui::Selectable("on the CPU", !source.gpu)) source.gpu = false;
        if (ImGui::Selectable("on the GPU (CUDA)", source.gpu)) source.gpu = true;
    });
}

/// Layer and head at the right end of a line; returns where they begin.
float ComparePage::draw_place(Scene& scene, float right, float y, std::size_t side) {
    const Ui& ui = scene.ui;
    CompareState& state = scene.state.compare;
    CompareSide& source = side == 0 ? state.a : state.b;
    const Index layers = scene.session.config().num_hidden_layers, first = layer_of(state.stage);
    if (first < 0) return right;
    Index layer = source.layer < 0 ? first : source.layer;
    Index head = std::min(side == 0 ? state.head : state.head_of_b(), std::max<Index>(1, matrices_.heads) - 1);
    const Index layer_before = layer, head_before = head;
    float left = right;
    if (matrices_.heads > 1) {
        left = ui.layer_and_head(right, y, layers, layer, matrices_.heads, head);
    } else {
        left = ui.stepper("layer", right, y, std::to_string(layer), layer, 0, layers - 1) - ui.px(6);
        left -= ui.text(left, y, "layer", ui.theme->muted, Face::ui, Align::right);
    }
    if (layer != layer_before && side == 0) state.stage = at_layer(state.stage, layer);
    if (layer != layer_before && side == 1) source.layer = layer == first ? -1 : layer;
    if (head != head_before && side == 0) state.head = head;
    if (head != head_before && side == 1) state.other_head = head == state.head ? -1 : head;
    return left;
}

}  // namespace locus
