// "Why is this cell 0.926?": the cell's arithmetic, replayed to the last bit.
#include <algorithm>
#include <cmath>

#include "core/attention/microscope.h"
#include "viewer/app.h"
#include "viewer/plots/number_format.h"
#include "viewer/widgets.h"

namespace locus::view {

namespace {

std::string direction(Index offset) {
    if (offset == 0) return "itself";
    const std::string steps = std::to_string(std::abs(offset));
    return offset > 0 ? steps + " to the left" : steps + " to the right";
}

void draw_pair(Column& column, const PageContext& context, const CellExplanation<float>& cell) {
    const Snapshot& shown = *context.snapshot;
    const ImVec2 at = column.at();
    const float most = column.width() * 0.28F;
    const auto label = [&](Index t) {
        return fitted(shown.pieces[static_cast<std::size_t>(t)], most, fonts().regular);
    };
    float width = 0, x = at.x;
    chip("microscope query", at, px(24), label(cell.i), context.colours.text, context.colours.accent, width,
         context.colours);
    x += width + px(3);
    draw_text({x, at.y + px(4)}, "looks at", context.colours.muted, fonts().regular);
    x += text_width("looks at", fonts().regular) + px(3);
    chip("microscope key", {x, at.y}, px(24), label(cell.j), context.colours.text, context.colours.c2p, width,
         context.colours);
    x += width + px(4);
    const float room = at.x + column.width() - x;
    draw_text({x, at.y + px(4)}, fitted(direction(cell.offset), room, fonts().regular), context.colours.muted,
              fonts().regular);
    column.space(34);
}

struct TermRow {
    const TermExplanation<float>* term;
    std::string label;
    ImU32 colour;
};

std::vector<TermRow> term_rows(const CellExplanation<float>& cell, const Palette& colours) {
    std::vector<TermRow> rows = {{&cell.c2c, "q_{i} \u00b7 k_{j}", colours.c2c}};
    if (cell.c2p.active)
        rows.push_back({&cell.c2p, "q_{i} \u00b7 k^{r}_{" + std::to_string(cell.c2p.row) + "}", colours.c2p});
    if (cell.p2c.active)
        rows.push_back({&cell.p2c, "k_{j} \u00b7 q^{r}_{" + std::to_string(cell.p2c.row) + "}", colours.p2c});
    return rows;
}

void draw_softmax(Column& column, const CellExplanation<float>& cell, Index head_width, const Palette& colours) {
    const auto plain = [&](const std::string& text) { return std::vector<TextRun>{{text, colours.muted}}; };
    column.row(plain("sum"), fixed(cell.sum, 4));
    column.row(plain("\u00f7 \u221a(" + std::to_string(cell.terms) + " \u00b7 " + std::to_string(head_width) + ")"),
               fixed(cell.score, 4));
    if (!cell.visible) {
        column.row(plain("hidden by the mask"), fixed(0, 4), true);
        return;
    }
    column.row(plain("\u2212 row maximum " + fixed(cell.row_maximum, 4)), fixed(cell.shifted, 4));
    column.row(plain("exp"), fixed(cell.exponential, 4));
    column.row(plain("\u00f7 row sum " + fixed(cell.denominator, 4)), fixed(cell.probability, 4), true);
}

void draw_table_row(Column& column, const CellExplanation<float>& cell, const Snapshot& shown, const Palette& colours) {
    const auto plain = [&](const std::string& text) { return std::vector<TextRun>{{text, colours.muted}}; };
    const Index span = shown.config.span();
    column.title("Which table row?", "\u03b4(" + std::to_string(cell.i) + "," + std::to_string(cell.j) + ")");
    column.row(plain("i \u2212 j"), fixed(static_cast<double>(cell.offset), 0));
    std::string step = "clamped to \u00b1" + std::to_string(span);
    if (shown.config.position_buckets > 0) {
        const Index linear = shown.config.position_buckets / 2;
        step = std::abs(cell.offset) <= linear ? "bucket (|i\u2212j| \u2264 " + std::to_string(linear) + ": itself)"
                                               : "log bucket";
    }
    column.row(plain(step), fixed(static_cast<double>(cell.bucket), 0));
    column.row(plain("+ span " + std::to_string(span) + " \u2192 row"), std::to_string(cell.bucket + span));
}

/// The products of the strongest term, one bar per channel.
void draw_channels(Column& column, const TermRow& term, const Palette& colours) {
    column.title("channel by channel", std::to_string(term.term->products.size()) + " products");
    draw_runs({column.at().x + text_width("channel by channel ", fonts().semibold) + px(6), column.at().y - px(25)},
              {{term.label, term.colour}}, fonts().regular);
    const std::vector<float>& products = term.term->products;
    float largest = 1e-12F;
    for (const float product : products) largest = std::max(largest, std::abs(product));
    const float step = column.width() / static_cast<float>(products.size()), half = px(30);
    const ImVec2 at = column.at();
    for (std::size_t c = 0; c < products.size(); ++c) {
        const float left = at.x + step * static_cast<float>(c), height = half * products[c] / largest,
                    zero = at.y + half;
        ImGui::GetWindowDrawList()->AddRectFilled(
            {left, std::min(zero, zero - height)},
            {left + std::max(1.0F, step - 1), std::max(zero, zero - height) + 0.5F},
            products[c] >= 0 ? term.colour : colours.muted);
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        if (ImGui::IsWindowHovered() && mouse.x >= left && mouse.x < left + step && mouse.y >= at.y &&
            mouse.y < at.y + 2 * half) {
            ImGui::BeginTooltip();
            ImGui::Text("channel %d: %s \u00d7 %s = %s, running sum %s", static_cast<int>(c),
                        fixed(term.term->left[c], 5).c_str(), fixed(term.term->right[c], 5).c_str(),
                        fixed(products[c], 5).c_str(), fixed(term.term->running[c], 5).c_str());
            ImGui::EndTooltip();
        }
    }
    column.space(72);
}

}  // namespace

void draw_microscope(PageContext& context) {
    const Snapshot& shown = *context.snapshot;
    const State& state = context.state;
    const Palette& colours = context.colours;
    Column column({context.side_corner.x + px(16), context.side_corner.y + px(14)}, context.side_extent.x - px(32),
                  colours);
    if (!shown.line) {
        column.paragraph("This checkpoint has no relative attention; its scores are content to content alone.");
        return;
    }
    const Cell at = state.locked || !state.pointed.exists() ? state.cell : state.pointed;
    const HeadTensors<float> head = shown.head_tensors(state.head);
    const auto cell =
        explain_cell<float>(head, *shown.line, shown.options.p2c_index, shown.divisor_terms(), at.i, at.j);
    column.title(
        "Why is this cell " + fixed(cell.probability, 3) + "?",
        "(" + std::to_string(at.i) + ", " + std::to_string(at.j) + ")" + (state.locked ? "" : " follows the pointer"));
    draw_pair(column, context, cell);
    const std::vector<TermRow> rows = term_rows(cell, colours);
    double largest = 1e-12;
    const TermRow* strongest = &rows.front();
    for (const TermRow& row : rows) {
        if (std::abs(row.term->value) > std::abs(strongest->term->value)) strongest = &row;
        largest = std::max<double>(largest, std::abs(row.term->value));
    }
    for (const TermRow& row : rows)
        column.bar({{row.label, row.colour}}, 74, std::abs(row.term->value) / largest,
                   row.term->value < 0 ? with_alpha(row.colour, 0.5F) : row.colour, fixed(row.term->value, 4));
    column.rule();
    draw_softmax(column, cell, shown.config.attention_head_size, colours);
    column.rule();
    draw_table_row(column, cell, shown, colours);
    column.rule();
    if (column.at().y + px(140) < context.side_corner.y + context.side_extent.y) {
        draw_channels(column, *strongest, colours);
        column.paragraph("Lesson 08 \u00b7 Three terms");
    }
}

}  // namespace locus::view
