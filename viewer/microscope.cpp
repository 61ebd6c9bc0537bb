#include "viewer/microscope.h"

#include <algorithm>
#include <cmath>

#include "viewer/lesson_links.h"
#include "viewer/plots/number_format.h"
#include "viewer/side_column.h"

namespace locus {

namespace {

/// A chip like those of the sentence bar; returns its right end.
float chip(const Ui& ui, float x, float y, const std::string& label, ImU32 outline, float widest) {
    const float width = std::min(ui.text_width(label) + ui.px(14), widest);
    const Rect box{x, y - ui.px(12), x + width, y + ui.px(12)};
    ui.fill(box, ui.theme->chip, 5);
    ui.outline(box, outline, 2, 5);
    ui.text_within(box.x0 + ui.px(7), y, width - ui.px(14), label, ui.theme->text);
    return box.x1;
}

int strongest_term(const CellExplanation<float>& cell) {
    int best = 0;
    for (int term = 1; term < 3; ++term)
        if (term_of(cell, term).active && std::abs(term_of(cell, term).value) > std::abs(term_of(cell, best).value))
            best = term;
    return best;
}

Matrix<float> head_of(const Tensor<float>* stage, Index head) {
    if (!stage) return {};
    return stage->matrix(head);
}

}  // namespace

const TermExplanation<float>& term_of(const CellExplanation<float>& cell, int term) {
    return term == 0 ? cell.c2c : term == 1 ? cell.c2p : cell.p2c;
}

ImU32 term_colour(const Theme& theme, int term) { return term == 0 ? theme.c2c : term == 1 ? theme.c2p : theme.p2c; }

std::vector<Span> term_formula(const Theme& theme, const CellExplanation<float>& cell, int term) {
    const ImU32 colour = term_colour(theme, term);
    const auto base = [&](const char* text) { return Span{text, colour}; };
    const auto low = [&](const std::string& text) { return Span{text, colour, Face::tiny, -4}; };
    const auto high = [&](const char* text) { return Span{text, colour, Face::tiny, 5}; };
    if (term == 0) return {base("q"), low("i"), base(" \u00b7 k"), low("j")};
    const std::string row = std::to_string(term_of(cell, term).row);
    if (term == 1) return {base("q"), low("i"), base(" \u00b7 k"), high("r"), low(row)};
    return {base("k"), low("j"), base(" \u00b7 q"), high("r"), low(row)};
}

const CellExplanation<float>* Microscope::explain(const Scene& scene) {
    if (!scene.answer || scene.answer->length() == 0) return nullptr;
    const Answer& answer = *scene.answer;
    const Index head = std::min(scene.state.head, scene.session.config().num_attention_heads - 1);
    if (answer.serial != serial_ || head != head_) {
        serial_ = answer.serial;
        head_ = head;
        tensors_ = {head_of(answer.stage("q"), head), head_of(answer.stage("k"), head),
                    head_of(answer.stage("k_r"), head), head_of(answer.stage("q_r"), head), answer.visible};
        cell_.reset();
    }
    const Cell at{std::min(scene.state.cell.i, answer.length() - 1), std::min(scene.state.cell.j, answer.length() - 1)};
    if (cell_ && cell_->i == at.i && cell_->j == at.j) return &*cell_;
    // Without relative positions no row is looked up; any line of the right size serves.
    const BucketLine line = answer.line ? *answer.line : BucketLine::clamped(answer.length(), answer.length(), 1);
    cell_ = explain_cell<float>(tensors_, line, answer.options.p2c_index, answer.divisor_terms, at.i, at.j);
    return &*cell_;
}

void Microscope::draw(Scene& scene, const Rect& room) {
    const CellExplanation<float>* cell = explain(scene);
    if (!cell) return;
    const Ui& ui = scene.ui;
    const Answer& answer = *scene.answer;
    SideColumn column(ui, room);
    const std::string place = "(" + std::to_string(cell->i) + ", " + std::to_string(cell->j) + ")";
    note_cell(ui, *cell);
    column.heading("Why is this cell " + fixed(cell->probability, 3) + "?",
                   scene.state.locked ? "locked " + place : place);
    const float pair = column.width() * 0.34f;
    const std::string& query = answer.labels[static_cast<std::size_t>(cell->i)];
    const std::string& key = answer.labels[static_cast<std::size_t>(cell->j)];
    float x = chip(ui, column.left(), column.y(), query, ui.theme->accent, pair) + ui.px(4);
    x += ui.text(x, column.y(), "looks at", ui.theme->muted) + ui.px(4);
    x = chip(ui, x, column.y(), key, ui.theme->c2p, pair) + ui.px(5);
    const std::string way = direction(cell->offset);
    // The direction follows on the same line where it fits and gets its own where it does not.
    if (x + ui.text_width(way) > column.right()) {
        column.skip(24);
        x = column.left();
    }
    ui.text(x, column.y(), way, ui.theme->muted);
    column.skip(30);
    draw_terms(scene, column);
    column.rule();
    draw_steps(scene, column);
    column.rule();
    draw_row(scene, column);
    column.rule();

    const int chosen = hovered_term_ >= 0 ? hovered_term_
                       : scene.state.shown_term >= 0 && term_of(*cell, scene.state.shown_term).active
                           ? scene.state.shown_term
                           : strongest_term(*cell);
    draw_channels(scene, column, chosen);
    for (int term = 0; term < 3; ++term)  // a tall window has room for the others too
        if (term != chosen && term_of(*cell, term).active && column.y() + ui.px(150) < room.y1)
            draw_channels(scene, column, term);
    draw_lesson_links(scene, column, room, {{"08", "Three terms"}, {"09", "The sign of p2c"}, {"10", "Why √(3d)"}});
}

void Microscope::draw_terms(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    double largest = 0;
    for (int term = 0; term < 3; ++term)
        if (term_of(*cell_, term).active)
            largest = std::max(largest, std::abs(static_cast<double>(term_of(*cell_, term).value)));
    hovered_term_ = -1;
    for (int term = 0; term < 3; ++term) {
        const TermExplanation<float>& part = term_of(*cell_, term);
        if (!part.active) continue;
        const Rect line{column.left(), column.y() - ui.px(13), column.right(), column.y() + ui.px(13)};
        const std::string id = "term " + std::to_string(term);
        const Touch mouse = ui.touch(id.c_str(), line);
        if (mouse.hovered) hovered_term_ = term;
        if (mouse.clicked) scene.state.shown_term = scene.state.shown_term == term ? -1 : term;
        // What pulls the score down is drawn paler; the sign stands in the number.
        const ImU32 colour = faded(term_colour(*ui.theme, term), part.value < 0 ? 0.45f : 1.0f);
        const double share = largest > 0 ? std::abs(static_cast<double>(part.value)) / largest : 0;
        column.bar(term_formula(*ui.theme, *cell_, term), colour, share, fixed(part.value, 4));
        column.skip(27);
    }
    column.skip(-3);
}

void Microscope::draw_steps(Scene& scene, SideColumn& column) const {
    const CellExplanation<float>& cell = *cell_;
    column.row("sum", fixed(cell.sum, 4));
    column.row("\u00f7 \u221a(" + std::to_string(cell.terms) + " \u00b7 " +
                   std::to_string(scene.session.config().attention_head_size) + ")",
               fixed(cell.score, 4));
    if (!cell.visible) {
        column.sentence("The mask hides this pair, so its probability is exactly 0.");
        return;
    }
    if (scene.session.config().talking_head) {
        column.sentence("This model mixes the scores of all heads before the softmax, and the probabilities after it.");
        return;
    }
    column.row("\u2212 row maximum " + fixed(cell.row_maximum, 4), fixed(cell.shifted, 4));
    column.row("exp", fixed(cell.exponential, 4));
    column.row("\u00f7 row sum " + fixed(cell.denominator, 4), fixed(cell.probability, 4), true);
}

void Microscope::draw_row(Scene& scene, SideColumn& column) const {
    const CellExplanation<float>& cell = *cell_;
    if (!scene.answer->line) {
        column.sentence("This model has no relative positions: no table is looked up.");
        return;
    }
    const Ui& ui = scene.ui;
    const DebertaConfig& config = scene.session.config();
    const Index span = scene.answer->line->span(), half = span / 2;
    column.heading("Which table row?", "\u03b4(" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")");
    column.row("i \u2212 j", whole(cell.offset));
    const Index size = std::abs(cell.offset);
    if (config.position_buckets == 0)
        column.row(size < span ? "clamp (|i\u2212j| < " + std::to_string(span) + ": itself)"
                               : "clamped at the edge of \u00b1" + std::to_string(span),
                   whole(cell.bucket));
    else
        column.row(size <= half ? "bucket (|i\u2212j| \u2264 " + std::to_string(half) + ": itself)"
                                : "bucket (logarithm beyond " + std::to_string(half) + ")",
                   whole(cell.bucket));
    column.row("+ span " + std::to_string(span) + " \u2192 row", whole(cell.bucket + span));
    if (cell.p2c.active && cell.p2c.row != cell.bucket + span)
        column.row({{"k", ui.theme->p2c},
                    {"j", ui.theme->p2c, Face::tiny, -4},
                    {" uses \u03b4(j, i) \u2192 row", ui.theme->muted}},
                   whole(cell.p2c.row));
}

void Microscope::draw_channels(Scene& scene, SideColumn& column, int term) const {
    const Ui& ui = scene.ui;
    const std::vector<float>& products = term_of(*cell_, term).products;
    const ImU32 text = ui.theme->text;
    const char* names[][2] = {{"q \u00b7 k", ""}, {"q \u00b7 k", "r"}, {"k \u00b7 q", "r"}};
    column.heading({{names[term][0], text, Face::title},
                    {names[term][1], text, Face::tiny, 5},
                    {", channel by channel", text, Face::title}},
                   std::to_string(products.size()) + " products");
    double low = 0, high = 0;
    for (const float product : products)
        if (std::isfinite(product)) {
            low = std::min(low, static_cast<double>(product));
            high = std::max(high, static_cast<double>(product));
        }
    const Rect chart{column.left(), column.y() - ui.px(9), column.right(), column.y() + ui.px(51)};
    const Touch mouse = ui.touch(("channels " + std::to_string(term)).c_str(), chart);
    const double reach = high > low ? high - low : 1;
    const auto y = [&](double value) { return chart.y1 - static_cast<float>((value - low) / reach) * chart.height(); };
    const auto count = static_cast<float>(products.size());
    for (std::size_t c = 0; c < products.size(); ++c) {
        const auto n = static_cast<float>(c);
        const Rect slot{chart.x0 + chart.width() * n / count, chart.y0, chart.x0 + chart.width() * (n + 1) / count,
                        chart.y1};
        const bool under = mouse.hovered && slot.holds(mouse.at);
        const ImU32 colour = under ? text : products[c] >= 0 ? term_colour(*ui.theme, term) : ui.theme->muted;
        const float gap = slot.width() > ui.px(4) ? ui.px(1) : 0;
        const float top = std::floor(y(std::max(0.0f, products[c]))),
                    bottom = std::floor(y(std::min(0.0f, products[c])));
        ui.fill({std::floor(slot.x0), top, std::floor(slot.x1) - gap, std::max(bottom, top + ui.px(1))}, colour);
        if (under)
            ui.text(chart.x1, chart.y1 + ui.px(12),
                    "channel " + std::to_string(c) + "   " + fixed(term_of(*cell_, term).left[c], 4) + " \u00b7 " +
                        fixed(term_of(*cell_, term).right[c], 4) + " = " + fixed(products[c], 4),
                    ui.theme->muted, Face::mono_small, Align::right);
    }
    column.skip(84);
}

}  // namespace locus
