// Attention: one head of one layer, every term by itself, their sum, and what the softmax makes of it.
#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/formula_bar.h"
#include "viewer/microscope.h"
#include "viewer/page.h"
#include "viewer/plots/distance_curve.h"
#include "viewer/plots/heatmap.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"

namespace locus {

namespace {

struct Panel {
    const char* stem;
    const char* title;
    const char* note;
};

constexpr std::array<Panel, 5> kPanels = {{{"c2c", "content \u2192 content", "c2c"},
                                           {"c2p", "content \u2192 position", "c2p"},
                                           {"p2c", "position \u2192 content", "p2c"},
                                           {"scores", "scores", ""},
                                           {"probs", "probabilities", "softmax over j"}}};

/// Where everything goes, decided once a frame.
struct Layout {
    float left, top, side, gap, labels, header, title, legend;

    Rect cells(std::size_t panel) const {
        const float x = left + labels + static_cast<float>(panel % 3) * (side + gap);
        const float y = panel < 3 ? top + title + header : top + 2 * title + header + side + legend + row_gap();
        return {x, y, x + side, y + side};
    }
    float row_gap() const { return title * 14 / 22; }
};

class AttentionPage : public Page {
public:
    const char* name() const override { return "attention"; }
    const char* title() const override { return "Attention"; }
    char key() const override { return '2'; }
    float draw_bar(Scene& scene, const Rect& bar) override;
    void draw(Scene& scene, const Rect& room) override;
    void draw_side(Scene& scene, const Rect& room) override { microscope_.draw(scene, room); }
    void draw_formula(Scene& scene, const Rect& bar) override {
        if (const auto* cell = microscope_.explain(scene)) draw_score_formula(scene, bar, *cell);
    }
    bool press(Scene& scene, const KeyPress& press) override;
    std::vector<NamedMatrix> numbers(const Scene& scene) override;

private:
    void refresh(Scene& scene);
    Layout arrange(const Scene& scene, const Rect& room) const;
    void draw_panel(Scene& scene, const Layout& layout, std::size_t panel, std::optional<Cell>& pointed);
    void draw_absent(Scene& scene, const Rect& cells, const Panel& panel) const;
    void draw_strength(Scene& scene, const Layout& layout);
    void describe(const Scene& scene, Cell cell, const Panel& panel, const Heatmap& heatmap) const;

    std::array<Heatmap, 5> heatmaps_;
    std::array<bool, 5> present_{};
    std::uint64_t serial_ = 0;
    Index head_ = -1;
    std::array<std::vector<double>, 3> strength_;
    Microscope microscope_;
};

float AttentionPage::draw_bar(Scene& scene, const Rect& bar) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const DebertaConfig& config = scene.session.config();
    return ui.layer_and_head(bar.x1 - ui.px(16), bar.middle_y(), config.num_hidden_layers, state.layer,
                             config.num_attention_heads, state.head);
}

void AttentionPage::refresh(Scene& scene) {
    const Answer& answer = *scene.answer;
    const Index head = std::min(scene.state.head, scene.session.config().num_attention_heads - 1);
    const PictureVersion version{answer.serial, head, scene.state.theme};
    for (std::size_t n = 0; n < kPanels.size(); ++n) {
        const Tensor<float>* stage = answer.stage(kPanels[n].stem);
        present_[n] = stage != nullptr;
        if (!stage) continue;
        const bool probabilities = n == 4;
        heatmaps_[n].show(version, stage->matrix(head), answer.visible,
                          probabilities ? MapKind::sequential : MapKind::diverging,
                          probabilities ? std::optional(ValueRange{0, 1}) : std::nullopt);
    }
    if (serial_ == answer.serial && head_ == head) return;
    serial_ = answer.serial;
    head_ = head;
    for (std::size_t n = 0; n < strength_.size(); ++n)
        strength_[n] = present_[n] ? strength_by_distance(answer.stage(kPanels[n].stem)->matrix(head), answer.visible)
                                   : std::vector<double>();
}

Layout AttentionPage::arrange(const Scene& scene, const Rect& room) const {
    const Ui& ui = scene.ui;
    const Rect inside = room.inset(ui.px(16), ui.px(12));
    const float longest = widest_label(ui, *scene.answer, ui.px(96));
    Layout layout{inside.x0, inside.y0, 0, ui.px(18), longest + ui.px(6), longest + ui.px(8), ui.px(22), ui.px(22)};
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

void AttentionPage::draw(Scene& scene, const Rect& room) {
    if (!scene.answer || scene.answer->length() == 0) return;
    refresh(scene);
    State& state = scene.state;
    state.view.clamp(scene.answer->length());
    const Layout layout = arrange(scene, room);
    std::optional<Cell> pointed;
    for (std::size_t n = 0; n < kPanels.size(); ++n) draw_panel(scene, layout, n, pointed);
    if (pointed && !state.locked) state.cell = *pointed;
    draw_strength(scene, layout);
}

void AttentionPage::draw_panel(Scene& scene, const Layout& layout, std::size_t n, std::optional<Cell>& pointed) {
    const Ui& ui = scene.ui;
    State& state = scene.state;
    const Answer& answer = *scene.answer;
    const Rect cells = layout.cells(n);
    const bool first_row = n < 3;
    const ImU32 colour = first_row ? term_colour(*ui.theme, static_cast<int>(n)) : ui.theme->text;
    const float title_y = cells.y0 - (first_row ? layout.header : 0) - ui.px(14);
    const std::string note = n == 3 ? "sum / \u221a(" + std::to_string(answer.divisor_terms) + "\u00b7" +
                                          std::to_string(scene.session.config().attention_head_size) + ")"
                                    : kPanels[n].note;
    ui.text(cells.x0, title_y, kPanels[n].title, colour, Face::title);
    ui.text(cells.x1, title_y, note, ui.theme->muted, Face::mono_small, Align::right);
    if (!present_[n]) return draw_absent(scene, cells, kPanels[n]);

    bool clicked = false;
    const std::optional<Cell> cell = explore(ui, kPanels[n].stem, cells, answer.length(), state.view, clicked);
    if (cell) pointed = cell;
    if (cell && clicked) {
        state.locked = !(state.locked && state.cell == *cell);
        state.cell = *cell;
    }
    heatmaps_[n].draw(ui, cells, state.view);
    heatmaps_[n].draw_crosshair(ui, cells, state.view, state.cell);
    if (n % 3 == 0) draw_row_labels(ui, answer, cells, state.view, state.cell.i);
    if (first_row) draw_column_labels(ui, answer, cells, state.view, state.cell.j);
    heatmaps_[n].draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    if (n == 4 && layout.side / static_cast<float>(state.view.shown(answer.length())) < ui.px(10))
        ui.text(cells.x1, cells.y1 + ui.px(11), "wheel zooms", ui.theme->muted, Face::mono_small, Align::right);
    if (cell) describe(scene, *cell, kPanels[n], heatmaps_[n]);
}

void AttentionPage::draw_absent(Scene& scene, const Rect& cells, const Panel& panel) const {
    scene.ui.outline(cells, scene.ui.theme->line);
    scene.ui.paragraph(cells.x0 + scene.ui.px(16), cells.y0 + scene.ui.px(14), cells.width() - scene.ui.px(32),
                       std::string("This model was trained without the term ") + panel.title + ".",
                       scene.ui.theme->muted);
}

void AttentionPage::draw_strength(Scene& scene, const Layout& layout) {
    const Ui& ui = scene.ui;
    const Rect cells = layout.cells(5);
    ui.text(cells.x0, cells.y0 - ui.px(14), "strength by distance", ui.theme->text, Face::title);
    ui.text(cells.x1, cells.y0 - ui.px(14), "mean |term|", ui.theme->muted, Face::mono_small, Align::right);
    LinePlot plot;
    plot.first_x = 1 - static_cast<double>(scene.answer->length());
    plot.x_name = "i \u2212 j";
    plot.marked_x = static_cast<double>(scene.state.cell.i - scene.state.cell.j);
    plot.high = 0;
    for (std::size_t n = 0; n < strength_.size(); ++n) {
        if (strength_[n].empty()) continue;
        for (const double value : strength_[n])
            if (std::isfinite(value)) plot.high = std::max(plot.high, value * 1.06);
        plot.curves.push_back({strength_[n], term_colour(*ui.theme, static_cast<int>(n)), kPanels[n].title});
    }
    if (plot.high == 0) plot.high = 1;
    draw_line_plot(ui, "strength", {cells.x0 - ui.px(4), cells.y0, cells.x1, cells.y1 + ui.px(3)}, plot);
    ui.text(cells.x1, cells.y1 + ui.px(17), "to the right \u2190 i \u2212 j \u2192 to the left", ui.theme->muted,
            Face::mono_small, Align::right);
}

void AttentionPage::describe(const Scene& scene, Cell cell, const Panel& panel, const Heatmap& heatmap) const {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto token = [&](Index t) { return scene.answer->labels[static_cast<std::size_t>(t)]; };
    const std::string value =
        heatmap.hidden(cell.i, cell.j) ? "hidden by the mask" : fixed(heatmap.values()(cell.i, cell.j), 4);
    draw_tooltip(ui,
                 {{{token(cell.i), theme.text}, {" looks at ", theme.muted}, {token(cell.j), theme.text}},
                  {{"i " + std::to_string(cell.i) + "  j " + std::to_string(cell.j) + "  " + direction(cell.i - cell.j),
                    theme.muted, Face::mono_small}},
                  {{std::string(panel.title) + "  ", theme.muted}, {value, theme.text, Face::mono}},
                  {{scene.state.locked ? (scene.state.cell == cell ? "locked: click or Esc unlocks"
                                                                   : "click moves the lock here, Esc unlocks")
                                       : "click locks this cell",
                    theme.muted, Face::label}}});
}

bool AttentionPage::press(Scene& scene, const KeyPress& press) {
    if (!scene.answer) return false;
    State& state = scene.state;
    if (press.key == Key::tab) {
        state.shown_term = (state.shown_term + 1) % 3;
        return true;
    }
    return move_cell(state.cell, state.locked, state.view, scene.answer->length(), press);
}

std::vector<NamedMatrix> AttentionPage::numbers(const Scene& scene) {
    std::vector<NamedMatrix> matrices;
    if (!scene.answer) return matrices;
    const Answer& answer = *scene.answer;
    const Index head = std::min(scene.state.head, scene.session.config().num_attention_heads - 1);
    for (std::size_t n = 0; n < kPanels.size(); ++n) {
        const std::string name = "layer." + std::to_string(answer.request.layer) + "." + kPanels[n].stem;
        const Stage* stage = answer.trace.find(name);
        if (!stage) continue;
        NamedMatrix matrix = named_sheet(kPanels[n].stem, kPanels[n].title, *stage, 0, head);
        matrix.rows = matrix.cols = answer.labels;
        matrix.visible = answer.visible;
        if (n == 4) {
            matrix.map = MapKind::sequential;
            matrix.range = ValueRange{0, 1};
        }
        matrices.push_back(std::move(matrix));
    }
    return matrices;
}

}  // namespace

std::unique_ptr<Page> make_attention_page() { return std::make_unique<AttentionPage>(); }

}  // namespace locus
