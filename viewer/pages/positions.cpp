// The Positions page: which row of the relative table serves the pair (i, j), without any model.
#include <algorithm>
#include <cmath>

#include "viewer/pages/matrices.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/widgets.h"

namespace locus::view {

namespace {

BucketLine make_line(const PositionSettings& settings) {
    const Index tokens = settings.tokens;
    if (!settings.logarithmic) return BucketLine::clamped(tokens, tokens, settings.span);
    return BucketLine::logarithmic(tokens, tokens, settings.buckets, settings.max_position, settings.clamp);
}

/// Settings that changed give another version, so that textures follow.
std::uint64_t version_of(const PositionSettings& s) {
    std::uint64_t version = s.logarithmic ? 1 : 2;
    for (const int part : {s.tokens, s.span, s.buckets, s.max_position, static_cast<int>(s.clamp)})
        version = version * 4099 + static_cast<std::uint64_t>(part);
    return version;
}

void controls(PageContext& context) {
    PositionSettings& settings = context.state.positions;
    const Palette& colours = context.colours;
    const float top = context.corner.y - px(52);
    float x = context.corner.x + px(16), used = 0;
    int kind = settings.logarithmic ? 1 : 0;
    if (segmented("kind", {x, top + px(13)}, px(26), {"clamp", "log buckets"}, kind, used, colours))
        settings.logarithmic = kind == 1;
    x += used + px(20);
    const float width = px(120);
    labelled_slider("tokens", {x, top + px(6)}, width, "tokens", settings.tokens, 1, 200, colours);
    x += width + px(20);
    if (!settings.logarithmic) {
        labelled_slider("span", {x, top + px(6)}, width, "span k", settings.span, 1, 128, colours);
        return;
    }
    int half = settings.buckets / 2;
    labelled_slider("buckets", {x, top + px(6)}, width, "buckets / 2", half, 1, 64, colours);
    settings.buckets = 2 * half;
    x += width + px(20);
    labelled_slider("max position", {x, top + px(6)}, width, "max position", settings.max_position, half + 2, 256,
                    colours);
    settings.max_position = std::max(settings.max_position, half + 2);
    x += width + px(20);
    int clamp = settings.clamp == OffsetClamp::official ? 0 : 1;
    if (segmented("clamp", {x, top + px(13)}, px(26), {"official", "hf"}, clamp, used, colours))
        settings.clamp = clamp == 0 ? OffsetClamp::official : OffsetClamp::hf;
}

/// Calls draw for the two matrices; returns the hovered cell.
Cell draw_matrices(PageContext& context, const BucketLine& line, float side, float gap, Cell selected) {
    PositionSettings& settings = context.state.positions;
    const Palette& colours = context.colours;
    const Index tokens = settings.tokens;
    Matrix<float> offsets(tokens, tokens), rows(tokens, tokens);
    for (Index i = 0; i < tokens; ++i)
        for (Index j = 0; j < tokens; ++j) {
            offsets(i, j) = static_cast<float>(i - j);
            rows(i, j) = static_cast<float>(line.row(i, j) - line.span());
        }
    Cell pointed;
    std::vector<std::string> labels;
    for (Index t = 0; t < tokens; ++t) labels.push_back(std::to_string(t));
    const float label = px(34);
    const HeatmapStyle style{selected, context.state.pointed, &colours, 0};
    for (int n = 0; n < 2; ++n) {
        const ImVec2 corner = {context.corner.x + px(16) + label + static_cast<float>(n) * (side + gap),
                               context.corner.y + px(36)};
        draw_matrix_title({corner.x, corner.y - px(20)}, side, n == 0 ? "distance" : "row of the table",
                          n == 0 ? colours.text : colours.c2p,
                          n == 0 ? "i \u2212 j" : "\u03b4(i,j) \u2212 " + std::to_string(line.span()), colours);
        const HeatmapData data = as_heatmap(n == 0 ? offsets : rows, MapKind::diverging,
                                            static_cast<double>(n == 0 ? tokens : line.span()), version_of(settings));
        if (n == 0)
            draw_row_labels({corner.x - label, corner.y}, label, side, labels, data.grid, settings.view, selected.i,
                            colours);
        const HeatmapEvents events =
            draw_heatmap(n == 0 ? "offsets" : "rows", corner, side, data, context.textures, settings.view, style);
        if (events.clicked.exists()) settings.cell = events.clicked;
        if (events.hovered.exists()) pointed = events.hovered;
        // The whole diagonal through the cell has one row: the matrix is Toeplitz.
        const float cell = cell_side(side, data.grid, settings.view);
        ImDrawList& draw = *ImGui::GetWindowDrawList();
        draw.PushClipRect(corner, {corner.x + side, corner.y + side}, true);
        const int offset = selected.i - selected.j;
        for (int i = std::max(0, offset);
             i < std::min<int>(static_cast<int>(tokens), static_cast<int>(tokens) + offset); ++i) {
            const ImVec2 a = {corner.x + static_cast<float>(i - offset - settings.view.first_col) * cell,
                              corner.y + static_cast<float>(i - settings.view.first_row) * cell};
            draw.AddRect(a, {a.x + cell, a.y + cell}, with_alpha(colours.text, 0.45F));
        }
        draw.PopClipRect();
        draw_legend({corner.x, corner.y + side + px(8)}, data.range, MapKind::diverging, colours);
    }
    return pointed;
}

void draw_staircase(PageContext& context, const BucketLine& line, ImVec2 corner, ImVec2 extent, int offset) {
    const PositionSettings& settings = context.state.positions;
    draw_matrix_title({corner.x + px(34), corner.y - px(20)}, extent.x - px(34), "from distance to row",
                      context.colours.text, "i \u2212 j across, \u03b4 up; shaded: beyond the last distance of its own",
                      context.colours);
    Series stairs, straight;
    stairs.colour = context.colours.c2p;
    stairs.steps = true;
    straight.colour = with_alpha(context.colours.muted, 0.6F);
    const double half_span = static_cast<double>(line.span());
    for (Index at = -(settings.tokens - 1); at < settings.tokens; ++at) {
        stairs.x.push_back(static_cast<double>(at) - 0.5);
        stairs.y.push_back(static_cast<double>(line.row_of_offset(at)));
        const double unclamped = static_cast<double>(at) + half_span;
        if (unclamped < 0 || unclamped > 2 * half_span - 1) continue;
        straight.x.push_back(static_cast<double>(at));
        straight.y.push_back(unclamped);
    }
    stairs.x.push_back(settings.tokens - 0.5);
    stairs.y.push_back(stairs.y.back());
    LinePlot plot;
    plot.series = {straight, stairs};
    plot.has_mark = true;
    plot.x_marked = offset;
    const double edge = settings.logarithmic ? settings.max_position - 1 : settings.span - 1;
    if (edge < settings.tokens - 1) {  // beyond the edge all distances share one row
        plot.shaded_beyond = edge + 0.5;
    }
    draw_line_plot(corner, extent, plot, context.colours, nullptr);
}

void explain(PageContext& context, const BucketLine& line, Cell cell) {
    const PositionSettings& settings = context.state.positions;
    const Palette& colours = context.colours;
    Column column({context.side_corner.x + px(16), context.side_corner.y + px(14)}, context.side_extent.x - px(32),
                  colours);
    const auto plain = [&](const std::string& text) { return std::vector<TextRun>{{text, colours.muted}}; };
    const Index offset = cell.i - cell.j, row = line.row(cell.i, cell.j), bucket = row - line.span();
    column.title("Which row serves this pair?", "(" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")");
    column.row(plain("query i"), std::to_string(cell.i));
    column.row(plain("key j"), std::to_string(cell.j));
    column.row(plain("i \u2212 j"), fixed(static_cast<double>(offset), 0));
    column.row(plain(settings.logarithmic ? "bucket" : "clamped"), fixed(static_cast<double>(bucket), 0));
    column.row(plain("+ span " + std::to_string(line.span()) + " \u2192 row"), std::to_string(row), true);
    column.rule();
    Index sharing = 0;
    for (const Index other : line.rows()) sharing += other == row;
    const std::string where = offset == 0  ? "The token itself."
                              : offset > 0 ? "The key stands " + std::to_string(offset) + " to the left."
                                           : "The key stands " + std::to_string(-offset) + " to the right.";
    column.paragraph(where + (sharing == 1 ? " This distance has a row of its own."
                                           : " " + std::to_string(sharing) +
                                                 " distances share this row: the model cannot tell them apart."));
    if (settings.logarithmic && settings.clamp == OffsetClamp::hf && offset <= -settings.max_position)
        column.paragraph(
            "Hugging Face lets the bucket grow here and ends in row 0; the official code clamps the distance first and "
            "uses row 1.");
    column.rule();
    column.title("The table", std::to_string(2 * line.span()) + " rows");
    const auto [least, most] = std::minmax_element(line.rows().begin(), line.rows().end());
    column.row(plain("rows in use"), std::to_string(*least) + " \u2026 " + std::to_string(*most));
    column.row(plain("distances"), std::to_string(line.rows().size()));
    column.paragraph("Every diagonal has one row, so a line of 2T \u2212 1 numbers replaces the whole matrix.");
    column.paragraph("Lesson 05 \u00b7 Relative position matrix");
}

}  // namespace

void draw_positions_page(PageContext& context) {
    PositionSettings& settings = context.state.positions;
    controls(context);
    settings.cell.i = std::clamp(settings.cell.i, 0, settings.tokens - 1);
    settings.cell.j = std::clamp(settings.cell.j, 0, settings.tokens - 1);
    const BucketLine line = make_line(settings);
    const float gap = px(28), stairs = px(170);
    const float side =
        std::floor(std::max(px(80), std::min((context.extent.x - px(32) - px(34) - gap) / 2,
                                             context.extent.y - px(36) - px(20) - px(40) - stairs - px(12))));
    const Cell pointed = draw_matrices(context, line, side, gap, settings.cell);
    context.state.pointed = pointed;
    const Cell cell = pointed.exists() ? pointed : settings.cell;
    const ImVec2 below = {context.corner.x + px(16), context.corner.y + px(36) + side + px(20) + px(36)};
    draw_staircase(context, line, below,
                   {context.extent.x - px(32), context.corner.y + context.extent.y - below.y - px(10)},
                   cell.i - cell.j);
    explain(context, line, cell);

    const std::vector<TextRun> runs =
        settings.logarithmic
            ? std::vector<
                  TextRun>{{"\u03b4(i,j) = clamp( bucket(i \u2212 j) + b, 0, 2b \u2212 1 ),  bucket(x) = x up to b/2, "
                            "then ",
                            context.colours.text},
                           {"\u2308 ln(|x|\u00b72/b) / ln((M\u22121)\u00b72/b) \u00b7 (b/2 \u2212 1) \u2309 + b/2",
                            context.colours.c2p}}
            : std::vector<TextRun>{{"\u03b4(i,j) = clamp( i \u2212 j + k, 0, 2k \u2212 1 )", context.colours.text}};
    draw_runs({context.bar_corner.x + px(16), context.bar_corner.y + px(16)}, runs, fonts().mono);
}

}  // namespace locus::view
