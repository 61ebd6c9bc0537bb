#include "viewer/ui/microscope.h"

#include <algorithm>
#include <cmath>

#include "viewer/plots/cell_text.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/lesson_links.h"

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

bool is_shown(const CellExplanation<float>& cell, int term) {
    return term_of(cell, term).active && is_kept(cell, term);
}

int strongest_term(const CellExplanation<float>& cell) {
    int best = 0;
    for (int term = 1; term < 3; ++term)
        if (is_shown(cell, term) &&
            (!is_kept(cell, best) || std::abs(term_of(cell, term).value) > std::abs(term_of(cell, best).value)))
            best = term;
    return best;
}

}  // namespace

KeptTerms kept_terms(const Scene& scene) {
    return scene.session.config().talking_head ? KeptTerms{} : scene.state.attention.kept;
}

TermScale term_scale(const Scene& scene) {
    return {scene.answer ? scene.answer->divisor_terms : 1, scene.state.attention.scale_follows,
            scene.session.config().attention_head_size};
}

ImU32 term_colour(const Theme& theme, int term) { return term == 0 ? theme.c2c : term == 1 ? theme.c2p : theme.p2c; }

std::vector<Span> term_formula(ImU32 colour, const CellExplanation<float>& cell, int term) {
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
        tensors_ = head_tensors(answer, "layer." + std::to_string(answer.request.layer), head);
        cell_.reset();
    }
    const Cell at{std::min(scene.state.cell.i, answer.length() - 1), std::min(scene.state.cell.j, answer.length() - 1)};
    const KeptTerms kept = kept_terms(scene);
    const int terms = divisor_terms_left(scene.session.config().terms, kept, term_scale(scene));
    if (cell_ && cell_->i == at.i && cell_->j == at.j && cell_->kept == kept && cell_->terms == terms) return &*cell_;
    // Without relative positions no row is looked up; any line of the right size serves.
    const RelativeBuckets line =
        answer.line ? *answer.line : RelativeBuckets::clamped(answer.length(), answer.length(), 1);
    cell_ = explain_cell<float>(tensors_, line, answer.options.p2c_index, terms, at.i, at.j, kept);
    return &*cell_;
}

void Microscope::draw(Scene& scene, SideColumn& column, const Rect& room, const std::optional<DrawnRow>& drawn) {
    const CellExplanation<float>* cell = explain(scene);
    if (!cell) return;
    const Ui& ui = scene.ui;
    const std::string place = "(" + std::to_string(cell->i) + ", " + std::to_string(cell->j) + ")";
    note_cell(ui, *cell);
    column.heading("Why is this cell " + fixed(cell->probability, 3) + "?",
                   scene.state.locked ? "locked " + place : place);
    draw_pair(scene, column);
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
    draw_channels(scene, column, room, chosen);
    for (int term = 0; term < 3; ++term)  // a tall window has room for the others too
        if (!scene.state.attention.table && term != chosen && is_shown(*cell, term) &&
            column.y() + ui.px(180) < room.y1)
            draw_channels(scene, column, room, term);
    draw_copy(scene, column, drawn);
    draw_lesson_links(scene, column, {room.x0, room.y0, room.x1, room.y1 + ui.px(200)},
                      {{"08", "Three terms"}, {"09", "The sign of p2c"}, {"10", "Why √(3d)"}});
}

void Microscope::draw_pair(const Scene& scene, SideColumn& column) const {
    const Ui& ui = scene.ui;
    const float widest = column.width() * 0.34f;
    const auto token = [&](Index t) -> const std::string& { return scene.answer->labels[static_cast<std::size_t>(t)]; };
    float x = chip(ui, column.left(), column.y(), token(cell_->i), ui.theme->accent, widest) + ui.px(4);
    x += ui.text(x, column.y(), "looks at", ui.theme->muted) + ui.px(4);
    x = chip(ui, x, column.y(), token(cell_->j), ui.theme->c2p, widest) + ui.px(5);
    const std::string way = direction(cell_->offset);
    // The direction follows on the same line where it fits, in small letters if need be, and else on its own.
    const auto fits = [&](Face face) { return x + ui.text_width(way, face) <= column.right(); };
    const Face face = !fits(Face::ui) && fits(Face::label) ? Face::label : Face::ui;
    if (!fits(face)) {
        column.skip(24);
        x = column.left();
    }
    ui.text(x, column.y(), way, ui.theme->muted, face);
    column.skip(30);
}

void Microscope::draw_terms(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    double largest = 0;
    for (int term = 0; term < 3; ++term)
        if (is_shown(*cell_, term))
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
        if (is_kept(*cell_, term)) {
            // What pulls the score down is drawn paler; the sign stands in the number.
            const ImU32 colour = faded(term_colour(*ui.theme, term), part.value < 0 ? 0.45f : 1.0f);
            const double share = largest > 0 ? std::abs(static_cast<double>(part.value)) / largest : 0;
            column.bar(term_formula(term_colour(*ui.theme, term), *cell_, term), colour, share, fixed(part.value, 4));
        } else {
            ui.spans(column.left(), column.y(), term_formula(ui.theme->muted, *cell_, term));
            ui.text(column.left() + ui.px(78), column.y(), "dropped", ui.theme->muted);
            const float width =
                ui.text(column.right(), column.y(), fixed(part.value, 4), ui.theme->muted, Face::mono, Align::right);
            ui.fill({column.right() - width, column.y(), column.right(), column.y() + ui.px(1)}, ui.theme->muted);
        }
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
        column.sentence(hidden_pair_sentence(cell));
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
    column.heading("Which table row?", "\u03b4(" + std::to_string(cell.i) + ", " + std::to_string(cell.j) + ")");
    const TableRule rule = TableRule::of(scene.session.config(), scene.answer->options.offset_clamp);
    Index row = 0;
    for (const TableStep& step : table_steps(rule, cell.offset)) {
        if (!step.why.empty()) {
            ui.text_within(column.left(), column.y(), column.width(), step.why, ui.theme->muted);
            column.skip(23);
        }
        const Face face = step.why.empty() ? Face::ui : Face::mono_small;
        column.row(std::vector<Span>{{step.label, ui.theme->muted, face}}, whole(step.value));
        row = step.value;
    }
    if (cell.p2c.active && cell.p2c.row != row)
        column.row({{"k", ui.theme->p2c},
                    {"j", ui.theme->p2c, Face::tiny, -4},
                    {" uses \u03b4(j, i) \u2192 row", ui.theme->muted}},
                   whole(cell.p2c.row));
}

}  // namespace locus
