// What the memory is good for, and why the query looks where it does.
#include <algorithm>
#include <cmath>

#include "viewer/formula_bar.h"
#include "viewer/lesson_links.h"
#include "viewer/pages/transformer_xl.h"
#include "viewer/plots/number_format.h"
#include "viewer/side_column.h"

namespace locus {

namespace {

constexpr std::array<std::size_t, 4> kTerms = {0, 1, 3, 4};
constexpr const char* kTermNames[] = {"a  q\u00b7k", "b  q\u00b7r", "c  u\u00b7k", "d  v\u00b7r"};

}  // namespace

void TransformerXlPage::draw_side(Scene& scene, const Rect& room) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const MemoryState& state = scene.state.memory;
    const auto i = static_cast<std::size_t>(state.cell.i);
    const auto& words = exhibit().second();
    SideColumn column(ui, room);
    std::string before;
    for (std::size_t n = i < 3 ? 0 : i - 3; n <= i; ++n) before += words[n] + " ";
    column.heading("What follows?", "next word");
    column.sentence("\u201c" + before + "\u2026\u201d goes on with \u201c" + exhibit().next()[i] + "\u201d.", false);
    const auto list = [&](const std::string& title, const MemoryAnswer& answer, ImU32 colour) {
        column.row(title, "");
        for (const WordGuess& guess : exhibit().guesses(answer, state.cell.i, 3)) {
            const bool right = guess.word == exhibit().next()[i];
            column.bar({{guess.word, right ? ui.theme->text : ui.theme->muted}}, colour, guess.probability,
                       fixed(guess.probability, 3));
            column.skip(23);
        }
    };
    list(state.memory == 0 ? "without memory" : "with " + std::to_string(state.memory) + " remembered tokens", *answer_,
         ui.theme->accent);
    if (state.memory > 0) list("without memory", *without_, ui.theme->muted);
    ui.note("memory/loss", answer_->loss);
    ui.note("memory/loss without", without_->loss);
    column.row("loss of the segment, nats", fixed(answer_->loss, 3), true);
    if (state.memory > 0) column.row("without memory", fixed(without_->loss, 3));
    column.rule();

    const Index key = chosen_key(state), distance = state.memory + state.cell.i - key;
    if (key < 0) {
        column.heading("Forgotten", "");
        column.sentence("\u201c" + word(state.cell.j) + "\u201d lies beyond a memory of " +
                        std::to_string(state.memory) +
                        ": no query can look at it. Drag the handle on the tape to the left.");
        return;
    }
    column.heading("Why look at \u201c" + word(state.cell.j) + "\u201d?", state.locked ? "locked" : "");
    column.sentence("\u201c" + words[i] + "\u201d, " + direction(distance) +
                    (key < state.memory ? ", in the memory." : "."));
    if (panels_[5].hidden(state.cell.i, key)) {
        column.sentence(
            "It lies to the right of the query, so the mask hides it: the next words are what is predicted.");
        return;
    }
    double sum = 0, largest = 1e-9;
    for (const std::size_t panel : kTerms) largest = std::max(largest, std::abs(value(panel, state)));
    for (std::size_t term = 0; term < kTerms.size(); ++term) {
        const double number = value(kTerms[term], state);
        sum += number;
        ui.note((std::string("memory/") + kTermNames[term][0]).c_str(), number);
        const ImU32 colour = relative_term_colour(*ui.theme, term);
        column.bar({{kTermNames[term], colour, Face::mono}}, faded(colour, number < 0 ? 0.45f : 1.0f),
                   std::abs(number) / largest, fixed(number, 3));
        column.skip(23);
    }
    ui.note("memory/sum", sum);
    ui.note("memory/score", value(2, state));
    ui.note("memory/probability", value(5, state));
    column.row("sum", fixed(sum, 3), true);
    column.row("\u00f7 \u221a" + std::to_string(exhibit().sizes().head_width), fixed(value(2, state), 3));
    column.row("probability", fixed(value(5, state), 4), true);
    column.sentence(
        "No absolute position enters: u and v are the same for every query, r depends on the distance alone.");
    draw_lesson_links(scene, column, room,
                      {{"24", "Segments and memory"}, {"25", "Four Transformer-XL terms"}, {"26", "The shift trick"}});
}

void TransformerXlPage::draw_formula(Scene& scene, const Rect& bar) {
    refresh(scene);
    const Ui& ui = scene.ui;
    const MemoryState& state = scene.state.memory;
    const Index key = chosen_key(state);
    const auto plain = [&](const std::string& text) { return Span{text, ui.theme->text, Face::formula}; };
    std::vector<Span> line = {plain("A"),
                              {std::to_string(state.cell.i) + "," + std::to_string(std::max<Index>(0, key)),
                               ui.theme->text, Face::mono_tiny, -4},
                              plain(" = ( ")};
    const std::string distance = std::to_string(state.memory + state.cell.i - key);
    const char* products[] = {"q\u00b7k", "q\u00b7r", "u\u00b7k", "v\u00b7r"};
    for (std::size_t term = 0; term < kTerms.size(); ++term) {
        const ImU32 colour = relative_term_colour(*ui.theme, term);
        if (term > 0) line.push_back(plain(" + "));
        line.push_back({products[term], colour, Face::formula});
        if (term % 2 == 1) line.push_back({distance, colour, Face::mono_tiny, -4});
        line.push_back({" " + fixed(value(kTerms[term], state), 2), colour, Face::formula});
    }
    line.push_back(
        plain(" ) / \u221a" + std::to_string(exhibit().sizes().head_width) + " = " + fixed(value(2, state), 3)));
    if (key < 0 || panels_[5].hidden(state.cell.i, key)) line = {plain("hidden from the query")};
    const float x = bar.x0 + ui.px(16), end = x + ui.spans(x, bar.middle_y(), line);
    draw_bar_note(scene, bar, "distance = M + i \u2212 j", end);
}

}  // namespace locus
