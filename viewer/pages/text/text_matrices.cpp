// Documents and words, documents and documents, words and words.
#include <algorithm>
#include <cmath>

#include "viewer/pages/text/text.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"

namespace locus {

const std::array<const char*, 4> kLikenesses = {"cosine of counts", "cosine of tf\u00b7idf", "latent semantics",
                                                "word mover\u2019s"};

namespace {

/// Labels at the left of the rows; where rows are low only the chosen one.
template <class Name>
void name_rows(const Ui& ui, const Rect& cells, const MatrixView& view, Cell shape, Index chosen, float width,
               Name name) {
    const bool all = cell_rect(cells, view, shape.i, shape.j, {0, 0}).height() >= ui.px(12);
    for (Index i = 0; i < shape.i; ++i) {
        const Rect row = cell_rect(cells, view, shape.i, shape.j, {i, 0});
        if ((!all && i != chosen) || row.middle_y() < cells.y0 || row.middle_y() > cells.y1) continue;
        ui.text_within(cells.x0 - ui.px(6), row.middle_y(), width, name(i),
                       i == chosen ? ui.theme->text : ui.theme->muted, Face::label, Align::right);
    }
}

/// Labels over the columns, running upwards.
template <class Name>
void name_columns(const Ui& ui, const Rect& cells, const MatrixView& view, Cell shape, Index chosen, Name name) {
    const bool all = cell_rect(cells, view, shape.i, shape.j, {0, 0}).width() >= ui.px(14);
    for (Index j = 0; j < shape.j; ++j) {
        const Rect column = cell_rect(cells, view, shape.i, shape.j, {0, j});
        if ((!all && j != chosen) || column.middle_x() < cells.x0 || column.middle_x() > cells.x1) continue;
        ui.text_upwards(column.middle_x(), cells.y0 - ui.px(5), ui.cut(name(j), ui.px(54), Face::label),
                        j == chosen ? ui.theme->text : ui.theme->muted, Face::label);
    }
}

}  // namespace

std::string distance_text(double distance) { return std::isfinite(distance) ? fixed(distance, 3) : "none"; }

double likeness(const TextStudy& study, std::size_t which, Cell pair) {
    switch (which) {
        case 0:
            return study.tables->by_counts(pair.i, pair.j);
        case 1:
            return study.tables->by_weights(pair.i, pair.j);
        case 2:
            return study.by_topics(pair.i, pair.j);
        default:
            return 1 - study.tables->distances(pair.i, pair.j) / 2;
    }
}

void TextPage::draw_weights(Scene& scene, const Rect& cells) {
    const Ui& ui = scene.ui;
    TextPageState& state = scene.state.text_page;
    const Matrix<float>& values = weights_.values();
    const float left = scene.ui.px(16) + cells.x0 - ui.px(184);
    ui.text(left, cells.y0 - ui.px(72), state.weights == 0 ? "how often is it there?" : "how much does it say?",
            ui.theme->text, Face::title);
    ui.text(left, cells.y0 - ui.px(53), state.weights == 0 ? "documents \u00d7 words" : "tf \u00d7 idf",
            ui.theme->muted, Face::mono_small);
    bool clicked = false;
    const auto cell = explore(ui, "documents and words", cells, values.rows(), values.cols(), state.view, clicked);
    state.view.clamp(std::max(values.rows(), values.cols()));
    move_cursor(state, state.weight, cell, clicked);
    weights_.draw(ui, cells, state.view);
    const Cell shape{values.rows(), values.cols()};
    // The two documents that are compared below.
    ui.draw().push_clip({cells.x0 - ui.px(2), cells.y0 - 1}, {cells.x1 + 1, cells.y1 + 1});
    for (const auto& [row, colour] : {std::pair{state.pair.i, ui.theme->c2c}, {state.pair.j, ui.theme->c2p}}) {
        const Rect first = cell_rect(cells, state.view, shape.i, shape.j, {row, 0});
        ui.fill({cells.x0 - ui.px(2), first.y0, cells.x0 + ui.px(1), first.y1}, colour);
    }
    ui.draw().pop_clip();
    weights_.draw_crosshair(ui, cells, state.view, state.weight);
    name_rows(ui, cells, state.view, shape, state.weight.i, ui.px(158), [&](Index i) { return name_of(i); });
    name_columns(ui, cells, state.view, shape, state.weight.j,
                 [&](Index j) { return study_->tables->bag.words.word(j); });
    weights_.draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    if (study_->tables->left_out > 0)
        ui.text(cells.x1, cells.y1 + ui.px(11),
                std::to_string(study_->tables->left_out) + " more lines are left out: too much to compare",
                ui.theme->fault, Face::mono_small, Align::right);
    if (cell) describe_weight(scene, *cell);
}

void TextPage::draw_alike(Scene& scene, const Rect& cells, std::size_t which) {
    const Ui& ui = scene.ui;
    TextPageState& state = scene.state.text_page;
    const Index n = study_->documents();
    ui.text_within(cells.x0, cells.y0 - ui.px(10), cells.width(), kLikenesses[which], ui.theme->text, Face::title);
    bool clicked = false;
    MatrixView whole;
    const auto cell = explore(ui, kLikenesses[which], cells, n, whole, clicked);
    move_cursor(state, state.pair, cell, clicked);
    alike_[which].draw(ui, cells);
    alike_[which].draw_crosshair(ui, cells, {}, state.pair);
    if (which % 2 == 0)
        name_rows(ui, cells, {}, {n, n}, state.pair.i, ui.px(16), [](Index i) { return std::to_string(i + 1); });
    if (which == 2) alike_[which].draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    if (which == 3)
        ui.text(cells.x1, cells.y1 + ui.px(11),
                study_->tables->relaxed ? "1 \u2212 relaxed / 2" : "1 \u2212 distance / 2", ui.theme->muted,
                Face::mono_small, Align::right);
    if (cell) describe_alike(scene, *cell);
}

void TextPage::draw_moves(Scene& scene, const Rect& cells, bool flow) {
    const Ui& ui = scene.ui;
    TextPageState& state = scene.state.text_page;
    const Heatmap& heatmap = flow ? flow_ : costs_;
    const Cell shape{heatmap.values().rows(), heatmap.values().cols()};
    const PlacedWords &a = study_->words_of(study_->plan.pair.i), &b = study_->words_of(study_->plan.pair.j);
    bool clicked = false;
    MatrixView whole;
    const auto cell = explore(ui, flow ? "flow" : "distances", cells, shape.i, shape.j, whole, clicked);
    move_cursor(state, state.move, cell, clicked);
    heatmap.draw(ui, cells);
    heatmap.draw_crosshair(ui, cells, {}, state.move);
    const auto word = [](const PlacedWords& words) {
        return [&words](Index n) { return words.words[static_cast<std::size_t>(n)].text; };
    };
    if (flow) name_rows(ui, cells, {}, shape, state.move.i, ui.px(72), word(a));
    name_columns(ui, cells, {}, shape, state.move.j, word(b));
    if (cells.width() >= ui.px(156))
        heatmap.draw_legend(ui, cells.x0, cells.y1 + ui.px(11));
    else
        ui.text(cells.x0, cells.y1 + ui.px(11), brief(heatmap.range().low) + " \u2026 " + brief(heatmap.range().high),
                ui.theme->muted, Face::mono_small);
    ui.text(cells.x0, cells.y0 - ui.px(69), flow ? "flow" : "distance", ui.theme->text, Face::title);
    if (cell) describe_move(scene, *cell);
}

std::vector<NamedMatrix> TextPage::numbers(const Scene& scene) {
    if (!shown(scene.state.text_page)) return {};
    const TextTables& tables = *study_->tables;
    const std::vector<std::string>& documents = tables.lines;
    std::vector<std::string> words;
    for (Index n = 0; n < tables.counts.cols(); ++n) words.push_back(tables.bag.words.word(n));
    std::vector<NamedMatrix> matrices;
    const auto add = [&](const std::string& id, const std::string& title, const Matrix<double>& values,
                         const Heatmap& heatmap, std::vector<std::string> rows, std::vector<std::string> cols) {
        NamedMatrix matrix = named_matrix(id, title, id, values);
        matrix.rows = std::move(rows);
        matrix.cols = std::move(cols);
        matrix.map = MapKind::sequential;
        if (!heatmap.empty()) matrix.range = heatmap.range();
        matrices.push_back(std::move(matrix));
    };
    const bool counts = scene.state.text_page.weights == 0;
    add(counts ? "counts" : "tf-idf", counts ? "how often is it there?" : "how much does it say?",
        counts ? tables.counts : tables.weights, weights_, documents, words);
    const Index n = study_->documents();
    for (std::size_t which = 0; which < kLikenesses.size(); ++which) {
        Matrix<double> alike(n, n);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j) alike(i, j) = likeness(*study_, which, {i, j});
        constexpr const char* kIds[] = {"cosine of counts", "cosine of tf-idf", "latent semantics", "word mover's"};
        add(kIds[which], kLikenesses[which], alike, alike_[which], documents, documents);
    }
    if (!study_->plan.unavailable.empty()) return matrices;
    const auto texts = [&](Index document) {
        std::vector<std::string> all;
        for (const auto& word : study_->words_of(document).words) all.push_back(word.text);
        return all;
    };
    const Cell pair = study_->plan.pair;
    add("flow", "flow", study_->plan.movers.flow, flow_, texts(pair.i), texts(pair.j));
    add("distances", "distance", study_->plan.movers.costs, costs_, texts(pair.i), texts(pair.j));
    return matrices;
}

void TextPage::describe_weight(const Scene& scene, Cell cell) const {
    const Theme& theme = *scene.ui.theme;
    const TextTables& tables = *study_->tables;
    draw_tooltip(scene.ui, {{{"\u201c" + tables.bag.words.word(cell.j) + "\u201d", theme.text},
                             {" in document " + std::to_string(cell.i + 1), theme.muted}},
                            {{"times  ", theme.muted}, {brief(tables.counts(cell.i, cell.j)), theme.text, Face::mono}},
                            {{"tf \u00d7 idf  ", theme.muted},
                             {fixed(tables.tf(cell.i, cell.j), 3) + " \u00d7 " + fixed(tables.idf[cell.j], 3) + " = " +
                                  fixed(tables.weights(cell.i, cell.j), 4),
                              theme.text, Face::mono}}});
}

void TextPage::describe_alike(const Scene& scene, Cell cell) const {
    const Theme& theme = *scene.ui.theme;
    std::vector<std::vector<Span>> lines = {{{scene.ui.cut(name_of(cell.i), scene.ui.px(280)), theme.text}},
                                            {{scene.ui.cut(name_of(cell.j), scene.ui.px(280)), theme.text}}};
    const std::string outside = study_->outside_topics(cell);
    for (std::size_t which = 0; which < 3; ++which)
        lines.push_back({{std::string(kLikenesses[which]) + "  ", theme.muted},
                         which == 2 && !outside.empty()
                             ? Span{outside, theme.text}
                             : Span{fixed(likeness(*study_, which, cell), 3), theme.text, Face::mono}});
    lines.push_back({{"word mover\u2019s distance  ", theme.muted},
                     {distance_text(study_->tables->distances(cell.i, cell.j)), theme.text, Face::mono}});
    draw_tooltip(scene.ui, lines);
}

void TextPage::describe_move(const Scene& scene, Cell cell) const {
    const Theme& theme = *scene.ui.theme;
    const WordMovers& movers = study_->plan.movers;
    const double flow = movers.flow(cell.i, cell.j), cost = movers.costs(cell.i, cell.j);
    draw_tooltip(
        scene.ui,
        {{{study_->words_of(study_->plan.pair.i).words[static_cast<std::size_t>(cell.i)].text, theme.text},
          {" \u2192 ", theme.muted},
          {study_->words_of(study_->plan.pair.j).words[static_cast<std::size_t>(cell.j)].text, theme.text}},
         {{"flow \u00d7 distance  ", theme.muted},
          {fixed(flow, 3) + " \u00d7 " + fixed(cost, 3) + " = " + fixed(flow * cost, 4), theme.text, Face::mono}}});
}

}  // namespace locus
