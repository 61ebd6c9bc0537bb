// What the memory is good for, and why the query looks where it does.
#include <algorithm>
#include <cmath>

#include "viewer/pages/transformer_xl/transformer_xl.h"
#include "viewer/plots/chances.h"
#include "viewer/plots/matrix_labels.h"
#include "viewer/plots/number_format.h"
#include "viewer/ui/microscope.h"
#include "viewer/ui/side_column.h"

namespace locus {

namespace {

constexpr RelativeScheme kTransformerXl = RelativeScheme::transformer_xl;

}  // namespace

CellNames TransformerXlPage::cell_names(const MemoryState& state) {
    const bool later = chosen_key(state) > answer().memory + state.cell.i;
    return {sentence().name(), "layer " + std::to_string(state.layer) + ", head " + std::to_string(state.head),
            query_word(state), word(state.cell.j),
            later ? "it is to the right of the query: the next words are what is predicted"
                  : "it is too far back for this query: same_length lets every query see as many keys"};
}

std::string TransformerXlPage::copied_text(const MemoryState& state) {
    const RelativeCellExplanation<float>* cell = explain(state);
    if (!cell) return "";
    return cell_text(*cell, kTransformerXl, cell_names(state),
                     shift_source(answer().length, answer().keys(), cell->i, cell->j));
}

void TransformerXlPage::draw_side(Scene& scene, const Rect& area) {
    refresh(scene);
    MemoryState& state = scene.state.memory;
    const Ui::Scrolled scrolled(scene.ui);
    SideColumn column(scene.ui, area, side_scroll_);
    draw_column_choice(scene.ui, column, "next word", column_of(state));
    if (state.side == 0) draw_next_word(scene, column);
    const Index key = chosen_key(state);
    if (key < 0) {
        column.heading("Forgotten", "");
        column.sentence("\u201c" + word(state.cell.j) + "\u201d is beyond a memory of " +
                        std::to_string(answer().memory) +
                        ": no query can look at it. Drag the handle on the tape to the left.");
    } else {
        draw_cell(scene, column, area);
    }
    scroll_column(scene.ui, column, area, side_scroll_);
}

void TransformerXlPage::draw_next_word(Scene& scene, SideColumn& column) {
    const Ui& ui = scene.ui;
    const Index query = scene.state.memory.cell.i;
    const auto i = static_cast<std::size_t>(query);
    std::string before;
    for (Index n = std::max<Index>(0, query - 3); n <= query; ++n) before += word(answer().longest + n) + " ";
    column.heading("What follows?", "next word");
    const std::string next = i < answer().next.size() ? sentence().word_of(answer().next[i]) : "";
    column.sentence("\u201c" + before + "\u2026\u201d " +
                        (next.empty() ? "ends the text." : "goes on with \u201c" + next + "\u201d."),
                    false);
    if (!answer().has_head) {
        column.sentence("This model tells the next word by an adaptive softmax, which is not computed here.");
        column.rule();
        return;
    }
    if (next_words_.serial != answers_.serial() || next_words_.query != query)
        next_words_ = {answers_.serial(), query, answer().guesses(query, 3, true), answer().guesses(query, 3, false)};
    const auto list = [&](const std::string& title, const std::vector<WordGuess>& guesses, ImU32 colour) {
        column.row(title, "");
        if (!guesses.empty() && std::isnan(guesses.front().probability)) return column.sentence(kNoRank);
        for (const WordGuess& guess : guesses) {
            const ImU32 ink = guess.word == next ? ui.theme->text : ui.theme->muted;
            column.bar({{ui.cut(guess.word, ui.px(74)), ink}}, colour, guess.probability, fixed(guess.probability, 3));
            column.skip(23);
        }
    };
    const Index memory = answer().memory;
    list(memory == 0 ? "without memory" : "with " + std::to_string(memory) + " remembered tokens", next_words_.with,
         ui.theme->accent);
    if (memory > 0) list("without memory", next_words_.without, ui.theme->muted);
    ui.note("memory/loss", answer().loss);
    ui.note("memory/loss without", answer().loss_without);
    if (!answer().next.empty()) {
        column.row("loss of the segment, nats", fixed(answer().loss, 3), true);
        if (memory > 0) column.row("without memory", fixed(answer().loss_without, 3));
    }
    column.rule();
}

void TransformerXlPage::draw_row_of_r(SideColumn& column, const RelativeCellExplanation<float>& cell) const {
    column.heading("Which row of R?", "M + i \u2212 j");
    column.row(std::to_string(answer().memory) + " + " + std::to_string(cell.i) + " \u2212 " + std::to_string(cell.j) +
                   " = distance",
               whole(cell.distance));
    if (cell.row < 0) {
        column.sentence("R has no row for a negative distance: the keys to the right are hidden anyway.");
    } else {
        const ShiftSource from = shift_source(answer().length, answer().keys(), cell.i, cell.j);
        column.row(std::to_string(answer().keys() - 1) + " \u2212 " + std::to_string(cell.distance) + " = row",
                   std::to_string(cell.row));
        if (const Index clamp = sentence().model().config().clamp_len; clamp > 0)
            column.row("made for the distance",
                       std::to_string(std::min(cell.distance, clamp)) + (cell.distance > clamp ? ", clamp_len" : ""));
        column.row("before the shift at", "(" + std::to_string(from.row) + ", " + std::to_string(from.column) + ")");
        column.row("numbers before it in memory", grouped(from.place));
    }
}

void TransformerXlPage::draw_cell(Scene& scene, SideColumn& column, const Rect& area) {
    const Ui& ui = scene.ui;
    MemoryState& state = scene.state.memory;
    const RelativeCellExplanation<float>* cell = explain(state);
    if (!cell) return;
    ui.note("memory/score", static_cast<double>(cell->score));
    ui.note("memory/probability", static_cast<double>(cell->softmax.probability));
    const CellNames names = cell_names(state);
    const CellColumn choice = column_of(state);
    const std::string pair = "\u201c" + names.query + "\u201d " +
                             (cell->softmax.visible ? "looks at" : "does not see") + " \u201c" + names.key + "\u201d";
    if (state.side == 2) {
        column.heading("Channel by channel", state.locked ? "locked" : "");
        column.sentence(pair + ".", false);
        return draw_channel_table(ui, column, area, *cell, kTransformerXl, choice);
    }
    const bool brief_one = state.side == 0;
    if (brief_one && !cell->softmax.visible) {
        column.heading("Why not look at \u201c" + cut_token(ui, names.key, ui.px(90), Face::title) + "\u201d?",
                       state.locked ? "locked" : "");
        column.sentence(pair + ": " + names.hidden + ".");
        draw_lesson_links(scene, column, {{"24", "Segments and memory"}, {"26", "The shift trick"}});
        return;
    }
    column.heading(brief_one ? "Why look at \u201c" + cut_token(ui, names.key, ui.px(110), Face::title) + "\u201d?"
                             : "Why is this cell " + compact(static_cast<double>(cell->softmax.probability), 3) + "?",
                   state.locked ? "locked" : "");
    column.sentence(pair + ", " + direction(cell->distance) + (cell->j < answer().memory ? ", in the memory." : "."));
    draw_named_terms(ui, column, *cell, kTransformerXl, choice, "memory");
    if (brief_one) {
        column.row("\u00f7 \u221a" + std::to_string(sentence().sizes().head_width),
                   compact(static_cast<double>(cell->score), 4));
        column.row("probability", compact(static_cast<double>(cell->softmax.probability), 4), true);
    } else {
        draw_score_steps(column, *cell, names.hidden);
        column.rule();
        draw_row_of_r(column, *cell);
        column.rule();
        column.sentence(
            "a + c and b + d are added up as (q+u)\u00b7k and (q+v)\u00b7r; the last digits of the score "
            "come from these.");
        draw_copy_button(scene, column, copied_text(state));
    }
    draw_lesson_links(scene, column,
                      {{"24", "Segments and memory"}, {"25", "Four Transformer-XL terms"}, {"26", "The shift trick"}});
}

void TransformerXlPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const MemoryState& state = scene.state.memory;
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    const RelativeCellExplanation<float>* cell = explain(state);
    const Index clamp = sentence().model().config().clamp_len;
    std::vector<Span> line = {plain("hidden from the query")};
    if (cell && cell->softmax.visible) {
        const std::string place = std::to_string(cell->i) + "," + std::to_string(cell->j);
        line = {plain("A"), {place, ui.theme->text, Face::mono_tiny, -4}, plain(" = ( ")};
        const std::vector<NamedTerm> terms = named_terms(*cell, kTransformerXl);
        const Index distance = clamp > 0 ? std::min(cell->distance, clamp) : cell->distance;
        for (std::size_t n = 0; n < 4; ++n) {
            const ImU32 colour = named_term_colour(*ui.theme, kTransformerXl, n);
            if (n > 0) line.push_back(plain(" + "));
            line.push_back({terms[n].product, colour, Face::formula});
            if (n % 2 == 1) line.push_back({std::to_string(distance), colour, Face::mono_tiny, -4});
            line.push_back({" " + compact(static_cast<double>(terms[n].term->value), 2), colour, Face::formula});
        }
        line.push_back(plain(" ) / \u221a" + std::to_string(sentence().sizes().head_width) + " = " +
                             compact(static_cast<double>(cell->score), 3)));
    }
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar,
                  clamp > 0 ? "distance = min(M + i \u2212 j, clamp_len = " + std::to_string(clamp) + ")"
                            : "distance = M + i \u2212 j",
                  end);
}

}  // namespace locus
