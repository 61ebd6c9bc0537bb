// The Attention page: three terms, their sum, the probabilities, and how each term depends on distance.
#include <algorithm>
#include <cmath>

#include "viewer/pages/matrices.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/widgets.h"

namespace locus::view {

namespace {

struct Panel {
    const char* stem;  // of the stage
    const char* title;
    std::string note;
    ImU32 colour;
    MapKind kind;
};

/// Sizes of a page of two rows of three squares.
struct Layout {
    float label, side, gap, row_step;
    ImVec2 at(ImVec2 corner, int n) const {
        return {corner.x + px(16) + label + static_cast<float>(n % 3) * (side + gap),
                corner.y + px(36) + static_cast<float>(n / 3) * row_step};
    }
};

Layout make_layout(const PageContext& context) {
    const float label = label_width(context.snapshot->pieces), gap = px(18);
    const float wide = (context.extent.x - px(32) - label - 2 * gap) / 3;
    const float high = (context.extent.y - px(16) - 2 * px(20) - 2 * px(36)) / 2;
    const float side = std::floor(std::max(px(60), std::min(wide, high)));
    return {label, side, gap, side + px(20) + px(36)};
}

/// Mean of |term| over all pairs of one distance, over the visible text.
Series strength_by_distance(const Matrix<float>& term, ImU32 colour) {
    Series series;
    series.colour = colour;
    for (Index offset = -(term.cols() - 1); offset < term.rows(); ++offset) {
        const auto diagonal = term.diagonal(-offset);
        series.x.push_back(static_cast<double>(offset));
        series.y.push_back(diagonal.cwiseAbs().mean());
    }
    return series;
}

void draw_strength(PageContext& context, const Layout& layout, const std::vector<Series>& series) {
    const ImVec2 corner = layout.at(context.corner, 5);
    draw_matrix_title({corner.x, corner.y - px(20)}, layout.side, "strength by distance", context.colours.text,
                      "i \u2212 j", context.colours);
    LinePlot plot;
    plot.series = series;
    plot.has_mark = true;
    plot.x_marked = context.state.cell.i - context.state.cell.j;
    draw_line_plot(corner, {layout.side, layout.side + px(20)}, plot, context.colours, nullptr);
}

void draw_formula_bar(const PageContext& context, Cell cell) {
    const Snapshot& shown = *context.snapshot;
    const Palette& colours = context.colours;
    const auto value = [&](const char* stem) {
        const Matrix<float> matrix = shown.head_stage(stem, context.state.head);
        return matrix.size() ? matrix(cell.i, cell.j) : 0.0F;
    };
    std::vector<TextRun> runs = {
        {"A_{" + std::to_string(cell.i) + "," + std::to_string(cell.j) + "} = ( ", colours.text},
        {"q\u00b7k " + fixed(value("c2c"), 2), colours.c2c}};
    if (shown.config.terms.c2p) {
        runs.push_back({" + ", colours.text});
        runs.push_back({"q\u00b7k^{r} " + fixed(value("c2p"), 2), colours.c2p});
    }
    if (shown.config.terms.p2c) {
        runs.push_back({" + ", colours.text});
        runs.push_back({"k\u00b7q^{r} " + fixed(value("p2c"), 2), colours.p2c});
    }
    runs.push_back({" ) / \u221a" + std::to_string(shown.divisor_terms() * shown.config.attention_head_size) + " = " +
                        fixed(value("scores"), 3),
                    colours.text});
    const float top = context.bar_corner.y + (context.bar_extent.y - fonts().mono->FontSize) / 2 - px(1);
    const float used = draw_runs({context.bar_corner.x + px(16), top}, runs, fonts().mono);
    const char* caveat = "attention shows where information may flow, not why";
    if (used + text_width(caveat, fonts().small) + px(60) < context.bar_extent.x)
        draw_text_right(context.bar_corner.x + context.bar_extent.x - px(16), top + px(1), caveat, colours.muted,
                        fonts().small);
}

}  // namespace

void draw_attention_page(PageContext& context) {
    const Snapshot& shown = *context.snapshot;
    State& state = context.state;
    const Palette& colours = context.colours;
    const Layout layout = make_layout(context);
    const std::string scale = "sum / \u221a(" + std::to_string(shown.divisor_terms()) + "\u00b7" +
                              std::to_string(shown.config.attention_head_size) + ")";
    const Panel panels[] = {{"c2c", "content \u2192 content", "c2c", colours.c2c, MapKind::diverging},
                            {"c2p", "content \u2192 position", "c2p", colours.c2p, MapKind::diverging},
                            {"p2c", "position \u2192 content", "p2c", colours.p2c, MapKind::diverging},
                            {"scores", "scores", scale, colours.text, MapKind::diverging},
                            {"probs", "probabilities", "softmax over j", colours.text, MapKind::sequential}};
    const std::uint64_t version = shown.version * 1000 + static_cast<std::uint64_t>(state.head) + 1;
    const Cell selected = state.locked || !state.pointed.exists() ? state.cell : state.pointed;
    const HeatmapStyle style{selected, state.pointed, &colours, 1};
    Cell pointed;
    std::vector<Series> series;
    for (int n = 0; n < 5; ++n) {
        const Panel& panel = panels[n];
        const ImVec2 corner = layout.at(context.corner, n);
        const Matrix<float> values = shown.head_stage(panel.stem, state.head);
        draw_matrix_title({corner.x, corner.y - px(20)}, layout.side, panel.title, panel.colour, panel.note, colours);
        if (values.size() == 0) {
            draw_wrapped({corner.x, corner.y + px(8)}, layout.side, "This checkpoint has no such term.", colours.muted);
            continue;
        }
        if (n < 3) series.push_back(strength_by_distance(values, panel.colour));
        const HeatmapData data = as_heatmap(values, panel.kind, panel.kind == MapKind::sequential ? 1 : 0, version);
        if (n % 3 == 0)
            draw_row_labels({corner.x - layout.label, corner.y}, layout.label, layout.side, shown.pieces, data.grid,
                            state.view, selected.i, colours);
        HeatmapStyle own = style;
        own.value_decimals = panel.kind == MapKind::sequential ? 2 : 1;
        const HeatmapEvents events =
            draw_heatmap(panel.stem, corner, layout.side, data, context.textures, state.view, own);
        if (events.clicked.exists()) {
            state.cell = events.clicked;
            state.locked = true;
        }
        if (events.hovered.exists()) {
            pointed = events.hovered;
            cell_tooltip(shown.pieces, pointed, panel.note.size() < 4 ? panel.note : panel.stem,
                         values(pointed.i, pointed.j));
        }
        draw_legend({corner.x, corner.y + layout.side + px(8)}, data.range, panel.kind, colours);
    }
    draw_strength(context, layout, series);
    state.pointed = pointed;
    draw_microscope(context);
    draw_formula_bar(context, selected);
}

}  // namespace locus::view
