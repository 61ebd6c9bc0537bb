// Any stage of the trace by name, with its values.
#include <algorithm>
#include <cmath>

#include "viewer/pages/attention/attention.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/plots/plot_layout.h"

namespace locus {

namespace {

constexpr Index kWidest = 4096;                       // columns of a picture; beyond, neighbours share one
constexpr float kStageNames = 152, kStagePitch = 21;  // design pixels

/// "layer.2.p2c" -> "layer 2" and "p2c"; "emd.query.0" -> "emd" and "query.0".
std::pair<std::string, std::string> parted(const std::string& name) {
    std::size_t at = name.find('.');
    if (at == std::string::npos) return {"", name};
    std::string group = name.substr(0, at);
    const std::size_t next = name.find('.', at + 1);
    if (next != std::string::npos && name.find_first_not_of("0123456789", at + 1) == next) {
        group += " " + name.substr(at + 1, next - at - 1);
        at = next;
    }
    return {group, name.substr(at + 1)};
}

bool is_probability(const std::string& name) { return name.ends_with(".probs"); }

}  // namespace

void AttentionPage::step_stage(State& state, const Answer& answer, Index by) const {
    state.attention.picture = AttentionPicture::stage;
    const std::string shown = answer.shown_stage.empty() ? state.attention.stage : answer.shown_stage;
    const auto found = std::find(answer.stages.begin(), answer.stages.end(), shown);
    if (found == answer.stages.end()) return;
    const auto at = static_cast<Index>(found - answer.stages.begin());
    const Index next = std::clamp<Index>(at + by, 0, static_cast<Index>(answer.stages.size()) - 1);
    state.attention.stage = answer.stages[static_cast<std::size_t>(next)];
    if (layer_of(state.attention.stage) >= 0) state.layer = layer_of(state.attention.stage);
}

void AttentionPage::draw_stage(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Answer& answer = *scene.answer;
    std::string& wished = scene.state.attention.stage;
    // The name is that of what is seen.  An answer that is a moment old must not undo what was chosen since.
    if (!answer.shown_stage.empty() && answer.request.stage == at_layer(wished, scene.state.layer))
        wished = answer.shown_stage;
    const Rect inside = area.inset(ui.px(16), ui.px(12));
    const float names = ui.px(kStageNames);
    draw_stage_names(scene, {inside.x0, inside.y0, inside.x0 + names, inside.y1});
    draw_stage_matrix(scene, {inside.x0 + names + ui.px(18), inside.y0, inside.x1, inside.y1});
}

void AttentionPage::draw_stage_names(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const std::string chosen = at_layer(state.attention.stage, state.layer);
    const float pitch = ui.px(kStagePitch);
    if (area.holds(ImGui::GetIO().MousePos) && ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem))
        names_scroll_ -= Ui::scrolled_by(3 * pitch);
    names_scroll_ = std::clamp(names_scroll_, 0.0f, std::max(0.0f, names_height_ - area.height()));
    ui.draw().push_clip(area.min(), area.max());
    const Ui::Group group_of_ids(ui, "stages");
    std::string group;
    float y = 0, chosen_y = -1;
    for (const std::string& name : scene.answer->stages) {
        const auto [own, stem] = parted(name);
        if (own != group || y == 0) {
            if (y > 0) y += ui.px(6);
            const float middle = area.y0 + y - names_scroll_ + pitch / 2;
            if (middle > area.y0 && middle < area.y1) ui.text(area.x0, middle, own, ui.theme->muted, Face::label);
            y += pitch;
            group = own;
        }
        if (name == chosen) chosen_y = y;
        const float top = area.y0 + y - names_scroll_;
        y += pitch;
        const Rect line{area.x0, top, area.x1, top + pitch};
        if (line.y0 < area.y0 - pitch / 2 || line.y1 > area.y1 + pitch / 2) continue;
        const Touch mouse = ui.touch(name.c_str(), line);
        if (name == chosen || mouse.hovered) ui.fill(line, ui.theme->chip, 5);
        ui.text_within(line.x0 + ui.px(12), line.middle_y(), line.width() - ui.px(16), stem,
                       name == chosen ? ui.theme->text : ui.theme->muted, Face::mono_small);
        if (!mouse.clicked) continue;
        state.attention.stage = name;
        followed_ = name;  // it is in sight
        if (layer_of(name) >= 0) state.layer = layer_of(name);
    }
    ui.draw().pop_clip();
    names_height_ = y;
    if (followed_ != chosen && chosen_y >= 0) {
        followed_ = chosen;
        const bool in_sight = chosen_y > names_scroll_ && chosen_y + 2 * pitch < names_scroll_ + area.height();
        if (!in_sight) names_scroll_ = std::max(0.0f, chosen_y - area.height() / 2);
    }
}

void AttentionPage::refresh_stage(const Scene& scene, const Stage& stage) {
    const Answer& answer = *scene.answer;
    const ShownStage wanted{answer.serial, answer.shown_stage, scene.state.head, scene.state.theme};
    if (shown_stage_ == wanted) return;
    shown_stage_ = wanted;
    matrices_ = matrices_of(stage);
    const Index head = std::clamp<Index>(scene.state.head, 0, matrices_.heads - 1);
    pooled_ = columns_in_one(matrices_.cols, kWidest);
    Matrix<float> sheet = pool_columns(matrix_of(stage, 0, head).cast<float>(), pooled_);
    const bool pairs = matrices_.rows == answer.length() && sheet.cols() == answer.length() &&
                       counts_tokens(matrices_.row_axis) && counts_tokens(matrices_.col_axis);
    const bool probability = is_probability(stage.name);
    const ValueRange range = probability ? probability_range(sheet) : ValueRange{};
    stage_.show({++revision_, head, scene.state.theme}, std::move(sheet), pairs ? answer.visible : Mask(),
                probability ? MapKind::sequential : MapKind::diverging,
                probability ? std::optional(range) : std::nullopt);
}

void AttentionPage::draw_stage_matrix(Scene& scene, const Rect& area) {
    const Ui& ui = scene.ui;
    const Answer& answer = *scene.answer;
    State& state = scene.state;
    const Stage* stage = answer.shown_stage.empty() ? nullptr : answer.trace.find(answer.shown_stage);
    const float y = area.y0 + ui.px(8);
    if (!stage || stage->size() == 0) {
        ui.text(area.x0, y, at_layer(state.attention.stage, state.layer), ui.theme->text, Face::title);
        if (stage) ui.text(area.x0, y + ui.px(28), "this stage holds no values", ui.theme->muted);
        return;
    }
    refresh_stage(scene, *stage);
    const Index rows = stage_.values().rows(), cols = stage_.values().cols();
    const Index head = std::clamp<Index>(state.head, 0, matrices_.heads - 1);
    const std::string title = stage->name + (matrices_.heads > 1 ? ", head " + std::to_string(head) : "");
    const float end = area.x0 + ui.text(area.x0, y, title, ui.theme->text, Face::title);
    ui.text_within(area.x1, y, area.x1 - end - ui.px(20), stage->formula, ui.theme->muted, Face::mono_small,
                   Align::right);
    const float labels = ui.px(92);
    Rect cells{area.x0 + labels, area.y0 + ui.px(28 + 24), area.x1, area.y1 - ui.px(26)};
    if (matrices_.rows == matrices_.cols) cells.x1 = cells.x0 + std::min(cells.width(), cells.height());
    if (matrices_.rows == matrices_.cols) cells.y1 = cells.y0 + cells.width();
    // Few rows stay as low as they can be read, many share the height.
    cells.y1 = std::min(cells.y1, cells.y0 + std::max(static_cast<float>(matrices_.rows) * ui.px(48), ui.px(48)));
    MatrixView whole;
    bool clicked = false;
    const auto cell = explore(ui, "stage", cells, rows, cols, whole, clicked);
    if (cell && (!state.locked || clicked)) state.attention.stage_cell = *cell;
    if (cell && clicked) state.locked = true;
    state.attention.stage_cell = {std::min(state.attention.stage_cell.i, rows - 1),
                                  std::min(state.attention.stage_cell.j, cols - 1)};
    stage_.draw(ui, cells);
    stage_.draw_crosshair(ui, cells, {}, state.attention.stage_cell);
    draw_stage_labels(scene, cells);
    stage_.draw_legend(ui, cells.x0, cells.y1 + ui.px(13));
    const Cell at = state.attention.stage_cell;
    ui.text(cells.x1, cells.y1 + ui.px(13),
            "(" + std::to_string(at.i) + ", " + columns_text(at.j) +
                ") = " + precise(static_cast<double>(stage_.values()(at.i, at.j))),
            ui.theme->text, Face::mono, Align::right);
    if (cell) describe_stage(scene, *cell);
}

std::string AttentionPage::columns_text(Index c) const {
    const Index from = c * pooled_, to = std::min(from + pooled_, matrices_.cols) - 1;
    return std::to_string(from) + (to > from ? " \u2026 " + std::to_string(to) : "");
}

namespace {

/// Cells along a side that have a label: the chosen one and, as far from it and from each other as labels need, all
/// tokens or the round numbers of what is counted.  pooled: how many of these are in one cell.
std::vector<Index> labelled(Index count, Index pooled, bool tokens, Index chosen, float pitch, float needed) {
    std::vector<Index> all;
    const auto step = std::max<Index>(1, static_cast<Index>(std::ceil(needed / pitch)));
    if (tokens) {
        for (Index n = 0; n < count; n += step) all.push_back(n);
    } else {
        const auto fit = static_cast<int>(static_cast<float>(count) * pitch / needed);
        for (const double tick : whole_ticks(0, static_cast<double>(count * pooled - 1), std::max(2, fit)))
            all.push_back(static_cast<Index>(tick) / pooled);
    }
    std::erase_if(all, [&](Index n) { return std::abs(n - chosen) < step; });
    all.push_back(chosen);
    return all;
}

}  // namespace

void AttentionPage::draw_stage_labels(const Scene& scene, const Rect& cells) const {
    const Ui& ui = scene.ui;
    const Answer& answer = *scene.answer;
    const Cell chosen = scene.state.attention.stage_cell;
    const auto is_token = [&](const std::string& axis, Index count) {
        return counts_tokens(axis) && count == answer.length();
    };
    const bool row_tokens = is_token(matrices_.row_axis, matrices_.rows);
    const bool col_tokens = is_token(matrices_.col_axis, matrices_.cols);
    const Index rows = stage_.values().rows(), cols = stage_.values().cols();
    const float high = cells.height() / static_cast<float>(rows), wide = cells.width() / static_cast<float>(cols);
    const auto ink = [&](bool is_chosen) { return is_chosen ? ui.theme->text : ui.theme->muted; };
    for (const Index i : labelled(rows, 1, row_tokens, chosen.i, high, ui.px(14))) {
        const float y = whole_cell_rect(cells, rows, cols, {i, 0}).middle_y();
        const std::string label = row_tokens ? answer.labels[static_cast<std::size_t>(i)] : std::to_string(i);
        ui.text_within(cells.x0 - ui.px(6), y, ui.px(84), label, ink(i == chosen.i), Face::label, Align::right);
    }
    for (const Index j : labelled(cols, pooled_, col_tokens, chosen.j, wide, ui.px(34))) {
        const float x = whole_cell_rect(cells, rows, cols, {0, j}).middle_x();
        const std::string label = col_tokens ? answer.labels[static_cast<std::size_t>(j)] : std::to_string(j * pooled_);
        ui.text_within(x, cells.y0 - ui.px(9), std::max(ui.px(32), wide - ui.px(2)), label, ink(j == chosen.j),
                       col_tokens ? Face::tiny : Face::mono_small, Align::centre);
    }
    std::string axes = axis_in_words(matrices_.row_axis) + " \u2193   " + axis_in_words(matrices_.col_axis) + " \u2192";
    if (pooled_ > 1) axes += "   means of " + std::to_string(pooled_) + " columns";
    ui.text(cells.x0, cells.y0 - ui.px(26), axes, ui.theme->muted, Face::label);
}

void AttentionPage::describe_stage(const Scene& scene, Cell cell) const {
    const Theme& theme = *scene.ui.theme;
    const auto place = [&](const std::string& axis, Index count, Index at, const std::string& shown) {
        std::string words = axis_in_words(axis) + " " + shown;
        if (counts_tokens(axis) && count == scene.answer->length())
            words += "  " + scene.answer->labels[static_cast<std::size_t>(at)];
        return words;
    };
    const std::string value = stage_.hidden(cell.i, cell.j)
                                  ? "hidden by the mask"
                                  : precise(static_cast<double>(stage_.values()(cell.i, cell.j)));
    draw_tooltip(scene.ui, {{{place(matrices_.row_axis, matrices_.rows, cell.i, std::to_string(cell.i)), theme.text}},
                            {{place(matrices_.col_axis, matrices_.cols, cell.j, columns_text(cell.j)), theme.text}},
                            {{value, theme.text, Face::mono}}});
}

}  // namespace locus
