#include "viewer/ui/microscope.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "viewer/plots/cell_text.h"
#include "viewer/plots/line_plot.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/side_column.h"

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
    // Without relative positions no row is looked up; any buckets of the right size serve.
    const RelativeBuckets buckets =
        answer.buckets ? *answer.buckets : RelativeBuckets::clamped(answer.length(), answer.length(), 1);
    cell_ = explain_cell<float>(tensors_, buckets, answer.options.p2c_index, terms, at.i, at.j, kept);
    return &*cell_;
}

void Microscope::draw(Scene& scene, SideColumn& column, const Rect& area, const std::optional<DrawnRow>& drawn) {
    const CellExplanation<float>* cell = explain(scene);
    if (!cell) return;
    const Ui& ui = scene.ui;
    const std::string place = "(" + std::to_string(cell->i) + ", " + std::to_string(cell->j) + ")";
    note_cell(ui, *cell);
    // Where heads are mixed before the softmax, one head has no probability of its own.
    const bool mixed = scene.session.config().talking_head;
    column.heading(mixed ? "Why is this score " + compact(cell->score, 3) + "?"
                         : "Why is this cell " + compact(cell->probability, 3) + "?",
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
    draw_channels(scene, column, area, chosen);
    for (int term = 0; term < 3; ++term)  // a tall window shows the others too
        if (!scene.state.attention.table && term != chosen && is_shown(*cell, term) &&
            column.y() + ui.px(180) < area.y1)
            draw_channels(scene, column, area, term);
    draw_copy(scene, column, drawn);
    draw_lesson_links(scene, column,
                      {{"08", "Three terms"},
                       {"09", "The sign of p2c"},
                       {"10", "Why √(3d)"},
                       {"11", "Why no p2p"},
                       {"12", "One DeBERTa layer"},
                       {"02", "Attention from nothing"},
                       {"03", "Order is invisible"}});
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
            // What pulls the score down is drawn paler; the number shows the sign.
            const ImU32 colour = faded(term_colour(*ui.theme, term), part.value < 0 ? 0.45f : 1.0f);
            const double share = largest > 0 ? std::abs(static_cast<double>(part.value)) / largest : 0;
            column.bar(term_formula(term_colour(*ui.theme, term), *cell_, term), colour, share, compact(part.value, 4));
        } else {
            ui.spans(column.left(), column.y(), term_formula(ui.theme->muted, *cell_, term));
            ui.text(column.left() + ui.px(78), column.y(), "dropped", ui.theme->muted);
            const float width =
                ui.text(column.right(), column.y(), compact(part.value, 4), ui.theme->muted, Face::mono, Align::right);
            ui.fill({column.right() - width, column.y(), column.right(), column.y() + ui.px(1)}, ui.theme->muted);
        }
        column.skip(27);
    }
    column.skip(-3);
}

void Microscope::draw_steps(Scene& scene, SideColumn& column) const {
    const CellExplanation<float>& cell = *cell_;
    column.row("sum", compact(cell.sum, 4));
    column.row("\u00f7 \u221a(" + std::to_string(cell.terms) + " \u00b7 " +
                   std::to_string(scene.session.config().attention_head_size) + ")",
               compact(cell.score, 4));
    if (!cell.visible) {
        column.sentence(hidden_pair_sentence(cell));
        return;
    }
    if (scene.session.config().talking_head) {
        column.sentence("This model mixes the scores of all heads before the softmax, and the probabilities after it.");
        return;
    }
    column.row("\u2212 row maximum " + compact(cell.row_maximum, 4), compact(cell.shifted, 4));
    column.row("exp", compact(cell.exponential, 4));
    column.row("\u00f7 row sum " + compact(cell.denominator, 4), compact(cell.probability, 4), true);
}

void Microscope::draw_row(Scene& scene, SideColumn& column) const {
    const CellExplanation<float>& cell = *cell_;
    if (!scene.answer->buckets) {
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

// The two vectors of a term, channel by channel: as bars, and as a table with the running sum.

namespace {

/// Names of the vectors: {base, raised}.
struct Factors {
    const char *left, *right, *raised;
};
constexpr Factors kFactors[] = {{"q", "k", ""}, {"q", "k", "r"}, {"k", "q", "r"}};

/// Four decimals, fewer where the whole part needs the space, or a power of ten: at most nine characters.
std::string narrow(float value) {
    const double size = std::abs(static_cast<double>(value));
    return compact(static_cast<double>(value), size < 100 ? 4 : size < 1000 ? 3 : size < 10000 ? 2 : 0);
}

}  // namespace

void Microscope::draw_channels(Scene& scene, SideColumn& column, const Rect& area, int term) const {
    const Ui& ui = scene.ui;
    const Factors& names = kFactors[term];
    bool& table = scene.state.attention.table;
    const std::string note =
        std::to_string(term_of(*cell_, term).products.size()) + (table ? " products \u25b4" : " products \u25be");
    const float wide = ui.text_width(note, Face::mono_small) + ui.px(8);
    const Touch mouse =
        ui.touch(("table " + std::to_string(term)).c_str(),
                 {column.right() - wide, column.y() - ui.px(10), column.right(), column.y() + ui.px(10)});
    if (mouse.clicked) table = !table;
    if (mouse.hovered) ui.hairline_across(column.right() - wide + ui.px(8), column.right(), column.y() + ui.px(8));
    column.heading({{std::string(names.left) + " \u00b7 " + names.right, ui.theme->text, Face::title},
                    {names.raised, ui.theme->text, Face::tiny, 5},
                    {", channel by channel", ui.theme->text, Face::title}},
                   note);
    draw_chart(scene, column, term);
    if (table) draw_table(scene, column, area, term);
}

void Microscope::draw_chart(Scene& scene, SideColumn& column, int term) const {
    const Ui& ui = scene.ui;
    const TermExplanation<float>& part = term_of(*cell_, term);
    double low = 0, high = 0;
    for (const float product : part.products)
        if (std::isfinite(product)) {
            low = std::min(low, static_cast<double>(product));
            high = std::max(high, static_cast<double>(product));
        }
    const Rect chart{column.left(), column.y() - ui.px(9), column.right(), column.y() + ui.px(51)};
    const Touch mouse = ui.touch(("channels " + std::to_string(term)).c_str(), chart);
    const double reach = high > low ? high - low : 1;
    const auto y = [&](double value) { return chart.y1 - static_cast<float>((value - low) / reach) * chart.height(); };
    const auto count = static_cast<float>(part.products.size());
    for (std::size_t c = 0; c < part.products.size(); ++c) {
        const auto n = static_cast<float>(c);
        const Rect slot{chart.x0 + chart.width() * n / count, chart.y0, chart.x0 + chart.width() * (n + 1) / count,
                        chart.y1};
        const bool under = mouse.hovered && slot.holds(mouse.at);
        const ImU32 colour = under                   ? ui.theme->text
                             : part.products[c] >= 0 ? term_colour(*ui.theme, term)
                                                     : ui.theme->muted;
        const float gap = slot.width() > ui.px(4) ? ui.px(1) : 0;
        const float top = std::floor(y(std::max(0.0f, part.products[c])));
        const float bottom = std::floor(y(std::min(0.0f, part.products[c])));
        ui.fill({std::floor(slot.x0), top, std::floor(slot.x1) - gap, std::max(bottom, top + ui.px(1))}, colour);
        if (under)
            ui.text(chart.x1, chart.y1 + ui.px(12),
                    "channel " + std::to_string(c) + "   " + compact(part.left[c], 4) + " \u00b7 " +
                        compact(part.right[c], 4) + " = " + compact(part.products[c], 4),
                    ui.theme->muted, Face::mono_small, Align::right);
    }
    column.skip(84);
}

void Microscope::draw_table(Scene& scene, SideColumn& column, const Rect& area, int term) const {
    const Ui& ui = scene.ui;
    const TermExplanation<float>& part = term_of(*cell_, term);
    const Factors& names = kFactors[term];
    const float pitch = ui.px(18), first = column.left() + ui.px(20);
    const auto right = [&](int at) { return first + (column.right() - first) * static_cast<float>(at) / 4; };
    const auto write = [&](int at, const std::string& text, ImU32 colour) {
        ui.text(right(at), column.y(), text, colour, Face::mono_small, Align::right);
    };
    column.skip(-6);
    write(1, names.left, ui.theme->muted);
    write(2, std::string(names.right) + (names.raised[0] ? "\u02b3" : ""), ui.theme->muted);
    write(3, "product", ui.theme->muted);
    write(4, "sum", ui.theme->muted);
    ui.hairline_across(column.left(), column.right(), column.y() + ui.px(8));
    column.skip(18);
    for (std::size_t c = 0; c < part.products.size(); ++c, column.skip(18)) {
        if (column.y() < area.y0 - pitch || column.y() > area.y1 + pitch) continue;
        ui.text(column.left() + ui.px(14), column.y(), std::to_string(c), ui.theme->muted, Face::mono_small,
                Align::right);
        write(1, narrow(part.left[c]), ui.theme->muted);
        write(2, narrow(part.right[c]), ui.theme->muted);
        write(3, narrow(part.products[c]), ui.theme->text);
        write(4, narrow(part.running[c]), term_colour(*ui.theme, term));
    }
    column.skip(10);
}

std::string Microscope::text(const Scene& scene, const std::optional<DrawnRow>& drawn) {
    const CellExplanation<float>* cell = explain(scene);
    if (!cell) return {};
    const Answer& answer = *scene.answer;
    CellText about;
    about.where = scene.session.name() + ", layer " + std::to_string(answer.request.layer) + ", head " +
                  std::to_string(head_) + ", dialect " + to_string(answer.request.dialect);
    about.tokens = answer.labels;
    about.softmax_follows = !scene.session.config().talking_head;
    if (answer.buckets)
        about.steps = table_steps(TableRule::of(scene.session.config(), answer.options.offset_clamp), cell->offset);
    if (drawn) about.scores = drawn->scores;
    if (answer.visible.size() > 0)
        for (Index j = 0; j < answer.length(); ++j) about.visible.push_back(answer.visible(cell->i, j) != 0);
    return cell_text(*cell, about);
}

void Microscope::draw_copy(Scene& scene, SideColumn& column, const std::optional<DrawnRow>& drawn) {
    const Ui& ui = scene.ui;
    const float wide = ui.text_width("copy as text") + ui.px(20);
    const Rect box{column.left(), column.y() - ui.px(12), column.left() + wide, column.y() + ui.px(12)};
    if (ui.button("copy", box, "copy as text") || scene.state.attention.copies) {
        scene.state.attention.copies = false;
        const std::string all = text(scene, drawn);
        ImGui::SetClipboardText(all.c_str());
        scene.state.notice = "copied: " + std::to_string(std::count(all.begin(), all.end(), '\n')) + " lines";
    }
    if (drawn) {
        const bool mixed = scene.session.config().talking_head;
        const auto j = static_cast<std::size_t>(cell_->j);
        // NaN is what the matrix holds too where the weights hold it.
        const auto alike = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        const bool same =
            alike(drawn->scores[j], cell_->score) && (mixed || alike(drawn->probs[j], cell_->probability));
        ui.text_within(column.right(), column.y(), column.width() - wide - ui.px(12),
                       !same   ? "differs from the matrix"
                       : mixed ? "score: same bits"
                               : "same bits as the matrix",
                       same ? ui.theme->muted : ui.theme->fault, Face::mono_small, Align::right);
    }
    column.skip(32);
}

// The numbers of a cell by name.

void note_cell(const Ui& ui, const CellExplanation<float>& cell) {
    const Ui::Group group(ui, "microscope");
    const auto whole = [&](const char* id, Index value) { ui.note(id, static_cast<double>(value)); };
    const auto real = [&](const char* id, float value) { ui.note(id, static_cast<double>(value)); };
    whole("i", cell.i);
    whole("j", cell.j);
    whole("offset", cell.offset);
    whole("bucket", cell.bucket);
    for (const auto& [id, term] : {std::pair{"c2c", &cell.c2c}, {"c2p", &cell.c2p}, {"p2c", &cell.p2c}}) {
        if (!term->active) continue;
        real(id, term->value);
        if (term->row >= 0) whole((std::string(id) + "/row").c_str(), term->row);
    }
    real("sum", cell.sum);
    real("divisor", cell.divisor);
    real("score", cell.score);
    real("probability", cell.probability);
    if (!cell.visible) return;
    real("row_maximum", cell.row_maximum);
    real("shifted", cell.shifted);
    real("exponential", cell.exponential);
    real("denominator", cell.denominator);
}

void draw_score_formula(const Scene& scene, const Rect& bar, const CellExplanation<float>& cell) {
    const Ui& ui = scene.ui;
    const Theme& theme = *ui.theme;
    const auto plain = [&](const std::string& text) { return Span{text, theme.text, Face::formula}; };
    std::vector<Span> line = {plain("A"),
                              {std::to_string(cell.i) + "," + std::to_string(cell.j), theme.text, Face::mono_tiny, -4},
                              plain(" = ( ")};
    const char* products[][2] = {{"q\u00b7k", ""}, {"q\u00b7k", "r"}, {"k\u00b7q", "r"}};
    const float x = bar.x0 + ui.px(16);
    std::vector<std::pair<float, float>> struck;  // from the left end of the line
    bool first = true;
    for (int term = 0; term < 3; ++term) {
        if (!term_of(cell, term).active) continue;
        if (!first) line.push_back(plain(" + "));
        first = false;
        const bool kept = is_kept(cell, term);
        const ImU32 colour = kept ? term_colour(theme, term) : theme.muted;
        const float from = ui.spans_width(line);
        line.push_back({products[term][0], colour, Face::formula});
        line.push_back({products[term][1], colour, Face::mono_tiny, 5});
        line.push_back({" " + compact(term_of(cell, term).value, 2), colour, Face::formula});
        if (!kept) struck.emplace_back(from, ui.spans_width(line));
    }
    const auto under_root = std::to_string(cell.terms * scene.session.config().attention_head_size);
    line.push_back(plain(" ) / \u221a" + under_root + " = " + compact(cell.score, 3)));
    for (const auto& [from, to] : struck)
        ui.fill({x + from, bar.middle_y(), x + to, bar.middle_y() + ui.px(1)}, theme.muted);
    const float end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar,
                  struck.empty() ? "attention shows where information may flow, not why"
                                 : "only this head is computed anew, not the layers after it",
                  end);
}

namespace {

/// A sentence that matters more than what may stand in its way: up to three lines, whole under the pointer.
void draw_warning(const Ui& ui, const Rect& area, const std::string& sentence) {
    const float pitch = ui.px(14);
    std::vector<std::string> lines = ui.wrapped(sentence, area.width(), Face::label);
    const bool whole = lines.size() <= 3;
    if (!whole) {
        lines.resize(3);
        lines.back() = ui.cut(lines.back() + " \u2026\u2026", area.width(), Face::label);
    }
    float wide = 0;
    for (const std::string& line : lines) wide = std::max(wide, ui.text_width(line, Face::label));
    const float left = area.x1 - wide;
    ui.fill({left - ui.px(12), area.y0 + ui.px(1), area.x1, area.y1}, ui.theme->background);
    float y = area.middle_y() - pitch * static_cast<float>(lines.size() - 1) / 2;
    for (const std::string& line : lines) {
        ui.text(left, y, line, ui.theme->fault, Face::label);
        y += pitch;
    }
    if (!whole && ui.touch("warning", {left, area.y0, area.x1, area.y1}).hovered)
        draw_tooltip(ui, {{{sentence, ui.theme->text}}});
}

}  // namespace

void draw_bar_note(const Scene& scene, const Rect& bar, const std::string& sentence, float left_end) {
    const Ui& ui = scene.ui;
    const float right = bar.x1 - ui.px(16), area = right - left_end - ui.px(24);
    if (!scene.warning.empty())
        return draw_warning(ui, {right - std::max(area, ui.px(200)), bar.y0, right, bar.y1}, scene.warning);
    if (area > ui.px(120))
        ui.text_within(right, bar.middle_y(), area, sentence, ui.theme->muted, Face::mono_small, Align::right);
}

}  // namespace locus
