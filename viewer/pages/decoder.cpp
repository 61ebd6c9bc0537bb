// The Mask decoder page: how absolute positions enter at the end, and what they do to the words.
#include <algorithm>
#include <cmath>

#include "viewer/pages/matrices.h"
#include "viewer/plots/number_format.h"
#include "viewer/widgets.h"

namespace locus::view {

namespace {

constexpr Index kChannelsShown = 48;  // of a hidden state in a small picture: more would be finer than a pixel

Matrix<float> stage_matrix(const Snapshot& shown, const std::string& name) {
    const Stage* stage = shown.trace.find(name);
    return stage ? Matrix<float>(stage->as<float>().matrix()) : Matrix<float>();
}

std::string hidden_name(const Snapshot& shown) {
    return "layer." + std::to_string(shown.config.num_hidden_layers - 2) + ".output";
}

Matrix<float> mean_over_heads(const Snapshot& shown, const std::string& name) {
    const auto& probs = shown.trace.at(name).as<float>();
    Matrix<float> mean = probs.matrix(0);
    for (Index h = 1; h < shown.heads(); ++h) mean += probs.matrix(h);
    return mean / static_cast<float>(shown.heads());
}

/// One box of the flow: a name, a small live picture of the state, a note.
struct Box {
    ImVec2 a, b;
    float middle() const { return (a.y + b.y) / 2; }
};

void draw_box(PageContext& context, const std::string& name, Box box, const std::string& title, const std::string& note,
              const Matrix<float>& state, ImU32 outline) {
    const Palette& colours = context.colours;
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    draw.AddRectFilled(box.a, box.b, colours.panel, px(6));
    draw.AddRect(box.a, box.b, outline, px(6));
    draw_text({box.a.x + px(12), box.a.y + px(9)}, title, colours.text, fonts().semibold);
    draw_text({box.a.x + px(12), box.b.y - px(21)}, note, colours.muted, fonts().small);
    if (state.size() == 0) return;
    const HeatmapData data = as_heatmap(state.leftCols(std::min(kChannelsShown, state.cols())), MapKind::diverging, 0,
                                        context.snapshot->version);
    const ImVec2 from = {box.a.x + px(12), box.a.y + px(30)}, to = {box.b.x - px(12), box.b.y - px(27)};
    ImGui::GetWindowDrawList()->AddImage(context.textures.get(name, data, 0, colours.dark), from, to);
}

void draw_arrow(ImVec2 from, ImVec2 to, ImU32 colour, float bend) {
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    const float reach = (to.x - from.x) * 0.45F;
    draw.AddBezierCubic(from, {from.x + reach, from.y + bend}, {to.x - reach, to.y + bend}, to, colour, px(1.75F));
    draw.AddLine(to, {to.x - px(7), to.y - px(4)}, colour, px(1.75F));
    draw.AddLine(to, {to.x - px(7), to.y + px(4)}, colour, px(1.75F));
}

void draw_flow(PageContext& context, float top, float height) {
    const Snapshot& shown = *context.snapshot;
    const Palette& colours = context.colours;
    const std::string last = "layer " + std::to_string(shown.config.num_hidden_layers - 1);
    const float left = context.corner.x + px(16), width = context.extent.x - px(32);
    const auto at = [&](double share) { return left + width * static_cast<float>(share); };
    const float small = height * 0.46F, bottom = top + height;
    const Box i{{at(0), top}, {at(0.16), top + small}}, h{{at(0), bottom - small}, {at(0.16), bottom}};
    const Box sum{{at(0.24), top + height * 0.16F}, {at(0.40), top + height * 0.16F + small}};
    const Box first{{at(0.475), top + height * 0.06F}, {at(0.635), top + height * 0.82F}};
    const Box second{{at(0.69), top + height * 0.06F}, {at(0.85), top + height * 0.82F}};
    const Box head{{at(0.905), top + height * 0.20F}, {at(1), top + height * 0.66F}};
    const ImU32 query = colours.c2p, key = colours.c2c;  // queries travel in orange, keys and values in blue
    draw_arrow({i.b.x, i.middle()}, {sum.a.x, sum.middle() - px(8)}, query, 0);
    draw_arrow({h.b.x, h.middle() - px(12)}, {sum.a.x, sum.middle() + px(8)}, key, 0);
    draw_arrow({sum.b.x, sum.middle()}, {first.a.x, sum.middle()}, query, 0);
    draw_arrow({first.b.x, sum.middle()}, {second.a.x, sum.middle()}, query, 0);
    draw_arrow({second.b.x, head.middle()}, {head.a.x, head.middle()}, query, 0);
    draw_arrow({h.b.x, h.middle()}, {first.a.x, first.b.y - px(18)}, key, px(10));
    draw_arrow({h.b.x, h.middle() + px(12)}, {second.a.x, second.b.y - px(18)}, key, height * 0.19F);
    const auto label = [&](float x, float y, const std::string& text, ImU32 colour) {
        draw_runs({x, y}, {{text, colour}}, fonts().regular);
    };
    label((sum.b.x + first.a.x) / 2 - px(10), sum.middle() - px(22), "q_{0}", query);
    label((first.b.x + second.a.x) / 2 - px(10), sum.middle() - px(22), "q_{1}", query);
    label((second.b.x + head.a.x) / 2 - px(10), head.middle() - px(22), "q_{2}", query);
    label(first.a.x - px(44), first.b.y - px(4), "K, V", key);
    label(second.a.x - px(44), first.b.y - px(4), "K, V", key);
    const std::string rows = "rows 0 \u2026 " + std::to_string(shown.tokens() - 1);
    draw_box(context, "flow I", i, "I", rows, shown.absolute, colours.line);
    draw_box(context, "flow H", h, "H", "layer " + std::to_string(shown.config.num_hidden_layers - 2) + " output",
             stage_matrix(shown, hidden_name(shown)), colours.line);
    draw_box(context, "flow q0", sum, "H + I", "query", stage_matrix(shown, "emd.query.0"), colours.line);
    draw_box(context, "flow q1", first, last, "pass 1", stage_matrix(shown, "emd.0.output"), query);
    draw_box(context, "flow q2", second, last, "pass 2", stage_matrix(shown, "emd.1.output"), query);
    draw_box(context, "flow head", head, "head", "\u2192 words", stage_matrix(shown, "mlm.transform"), colours.line);
}

void draw_movement(PageContext& context, ImVec2 corner, float width, float size, float label) {
    const Snapshot& shown = *context.snapshot;
    const Palette& colours = context.colours;
    draw_matrix_title({corner.x, corner.y - px(20)}, width, "how far the query moved", colours.text,
                      "|q\u209c \u2212 q\u209c\u208b\u2081|", colours);
    const Matrix<float> q0 = stage_matrix(shown, "emd.query.0"), q1 = stage_matrix(shown, "emd.0.output"),
                        q2 = stage_matrix(shown, "emd.1.output");
    const Matrix<float> first = (q1 - q0).rowwise().norm(), second = (q2 - q1).rowwise().norm();
    const float largest = std::max({first.maxCoeff(), second.maxCoeff(), 1e-6F});
    const float cell = size / static_cast<float>(shown.tokens()), room = width - label;
    const Grid grid{static_cast<int>(shown.tokens()), 1, {}};
    HeatmapView whole;
    draw_row_labels(corner, label, size, shown.pieces, grid, whole, context.state.cell.i, colours);
    for (Index t = 0; t < shown.tokens(); ++t) {
        const float y = corner.y + cell * static_cast<float>(t), thick = std::max(1.0F, std::min(px(5), cell * 0.32F));
        ImDrawList& draw = *ImGui::GetWindowDrawList();
        draw.AddRectFilled({corner.x + label, y + cell * 0.5F - thick - 0.5F},
                           {corner.x + label + room * first(t, 0) / largest, y + cell * 0.5F - 0.5F}, colours.c2p);
        draw.AddRectFilled({corner.x + label, y + cell * 0.5F + 0.5F},
                           {corner.x + label + room * second(t, 0) / largest, y + cell * 0.5F + thick + 0.5F},
                           colours.c2c);
    }
    const ImVec2 legend = {corner.x + label * 0.3F, corner.y + size + px(5)};
    draw_runs(legend,
              {{"pass 1 ", colours.c2p}, {" pass 2 ", colours.c2c}, {" longest " + brief(largest), colours.muted}},
              fonts().small);
}

void draw_words(PageContext& context) {
    const Snapshot& shown = *context.snapshot;
    const Palette& colours = context.colours;
    Column column({context.side_corner.x + px(16), context.side_corner.y + px(14)}, context.side_extent.x - px(32),
                  colours);
    if (shown.guesses.empty()) {
        column.title("What stands at [MASK]?", "");
        column.paragraph("The sentence has no [MASK]. Press / and write one.");
    }
    const float bottom = context.side_corner.y + context.side_extent.y;
    bool first = true;
    for (const MaskGuesses& guesses : shown.guesses) {
        if (column.at().y + px(310) > bottom) {
            column.paragraph("More masks than fit: locus fill lists them all.");
            break;
        }
        if (!first) column.rule();
        column.title(
            std::string(first ? "What stands" : "And") + " at [MASK] " + std::to_string(guesses.position) + "?",
            "top 5");
        first = false;
        for (const bool decoder : {true, false}) {
            const std::vector<Guess>& words = decoder ? guesses.with_decoder : guesses.last_layer;
            if (words.empty()) continue;
            draw_text(column.at(), decoder ? "with the mask decoder" : "last layer alone, same head", colours.muted,
                      fonts().regular);
            column.space(22);
            for (const Guess& guess : words)
                column.bar({{fitted(guess.word, px(92), fonts().regular), colours.text}}, 100,
                           guess.probability / words.front().probability, decoder ? colours.c2p : colours.muted,
                           fixed(guess.probability, 3));
        }
    }
    if (column.at().y + px(110) < bottom) {
        column.rule();
        column.paragraph("Keys and values come from H in both passes. Only the query learns where it stands.");
    }
}

void draw_strength_slider(PageContext& context) {
    const Palette& colours = context.colours;
    State& state = context.state;
    const float right = context.bar_corner.x + context.bar_extent.x - px(16),
                y = context.bar_corner.y + context.bar_extent.y / 2;
    draw_text_right(right, y - px(8), fixed(state.absolute_strength, 2), colours.text, fonts().mono);
    const float to = right - px(44), from = to - px(130);
    ImGui::SetCursorScreenPos({from, y - px(10)});
    ImGui::InvisibleButton("strength of I", {to - from, px(20)});
    if (ImGui::IsItemActive())
        state.absolute_strength =
            std::round(std::clamp((ImGui::GetIO().MousePos.x - from) / (to - from), 0.0F, 1.0F) * 100) / 100;
    if (ImGui::IsItemHovered() && ImGui::GetIO().MouseWheel != 0)
        state.absolute_strength = std::clamp(state.absolute_strength + 0.05 * ImGui::GetIO().MouseWheel, 0.0, 1.0);
    const float knob = from + (to - from) * static_cast<float>(state.absolute_strength);
    ImGui::GetWindowDrawList()->AddLine({from, y}, {to, y}, colours.line, px(3));
    ImGui::GetWindowDrawList()->AddLine({from, y}, {knob, y}, colours.c2p, px(3));
    ImGui::GetWindowDrawList()->AddCircleFilled({knob, y}, px(6), colours.text);
    draw_text_right(from - px(12), y - px(8), "strength of I", colours.muted, fonts().regular);
}

}  // namespace

void draw_decoder_page(PageContext& context) {
    const Snapshot& shown = *context.snapshot;
    const Palette& colours = context.colours;
    draw_words(context);
    if (!shown.has_decoder) {
        draw_wrapped(
            {context.corner.x + px(16), context.corner.y + px(16)}, context.extent.x - px(32),
            context.state.dialect == Dialect::hf
                ? "Hugging Face runs no mask decoder: the head reads the last layer. Choose official above to see it."
                : "The mask decoder needs an absolute table, two layers and a text that fits the table; this "
                  "checkpoint or text has not.",
            colours.text);
        return;
    }
    const float flow_top = context.corner.y + px(18), flow = std::min(px(340), context.extent.y * 0.40F);
    draw_flow(context, flow_top, flow);
    const float top = flow_top + flow + px(46), label = label_width(shown.pieces), gap = px(22);
    const float room = context.extent.x - px(32), high = context.corner.y + context.extent.y - top - px(32);
    const float movement = std::max(px(190), room * 0.25F);
    const float side = std::floor(std::min(high, (room - movement - label - 2 * gap) / 2));
    float x = context.corner.x + px(16) + label;
    Cell pointed;
    for (int pass = 0; pass < 2; ++pass) {
        const std::string name = "emd." + std::to_string(pass) + ".probs";
        const Matrix<float> mean = mean_over_heads(shown, name);
        const HeatmapData data =
            as_heatmap(mean, MapKind::sequential, std::max(0.05, static_cast<double>(mean.maxCoeff())), shown.version);
        draw_matrix_title({x, top - px(20)}, side, "pass " + std::to_string(pass + 1) + " attention", colours.text,
                          "q" + std::string(pass ? "\u2081" : "\u2080") + " looks at H", colours);
        if (pass == 0)
            draw_row_labels({x - label, top}, label, side, shown.pieces, data.grid, context.state.view,
                            context.state.cell.i, colours);
        const HeatmapStyle style{{context.state.cell.i, context.state.cell.j}, context.state.pointed, &colours, 2};
        const HeatmapEvents events =
            draw_heatmap(name, {x, top}, side, data, context.textures, context.state.view, style);
        if (events.clicked.exists()) context.state.cell = events.clicked;
        if (events.hovered.exists()) {
            pointed = events.hovered;
            cell_tooltip(shown.pieces, pointed, "probability", mean(pointed.i, pointed.j));
        }
        draw_legend({x, top + side + px(8)}, data.range, MapKind::sequential, colours);
        x += side + gap;
    }
    context.state.pointed = pointed;
    draw_movement(context, {x, top}, context.corner.x + context.extent.x - px(16) - x, side, label);
    const float bar = context.bar_corner.y + (context.bar_extent.y - fonts().mono->FontSize) / 2 - px(1);
    draw_runs({context.bar_corner.x + px(16), bar},
              {{"q_{0} = ", colours.text},
               {"H", colours.c2c},
               {" + ", colours.text},
               {"I", colours.c2p},
               {",   q_{t+1} = layer", colours.text},
               {"_{" + std::to_string(shown.config.num_hidden_layers - 1) + "}(Q = ", colours.text},
               {"q_{t}", colours.c2p},
               {", K = V = ", colours.text},
               {"H", colours.c2c},
               {")", colours.text}},
              fonts().mono);
    draw_strength_slider(context);
}

}  // namespace locus::view
