#include "viewer/ui/tour.h"

#include <algorithm>

#include "viewer/state/state.h"

namespace locus {

const std::vector<TourStep>& tour_steps() {
    static const std::vector<TourStep> steps = {
        {"positions", "How far is j from i? The offset becomes a row of one small table; tokens far away share rows."},
        {"attention",
         "The mask finds \u201cbeside\u201d, two to the right, by position alone: the orange term makes the cell."},
        {"decoder", "Absolute positions enter only here, after the encoder: two masks, two different lists of words."},
        {"rope", "Queries and keys are rotated by their positions. Shift both (s): their product stays the same."},
        {"transformer-xl",
         "A segment looks back into memory: names and places come back from words it no longer holds."},
        {"permutation",
         "Predicted after \u201cfrance\u201d, \u201cparis\u201d is nearly certain. Choose the other order: it cannot "
         "look."},
        {"text", "Earlier models counted words. Documents 1 and 2 share none, yet their words are close in meaning."},
        {"compare", "The paper\u2019s formula against the code: the diagonal agrees, and no other cell does."},
        {"training",
         "A small model learns while you watch: press Train, and see which distance the orange curve prefers."},
        {"start", "That was the tour. Write a sentence of your own with Ctrl L: every page answers."},
    };
    return steps;
}

void go_to_step(State& state, Index step, Index layers, Index heads) {
    const auto last = static_cast<Index>(tour_steps().size()) - 1;
    if (step > last) return end_tour(state);
    const State fresh;
    if (state.tour.step < 0) {
        state.tour.text = state.text;
        state.tour.choices = state.choices;
    }
    state.tour.step = std::max<Index>(0, step);
    state.page = tour_steps()[static_cast<std::size_t>(state.tour.step)].page;
    state.text = fresh.text;
    state.tokens.clear();
    state.mask.clear();
    state.masked.clear();
    state.dialect = fresh.dialect;
    state.layer = std::min(fresh.layer, layers - 1);
    state.head = std::min(fresh.head, heads - 1);
    state.cell = fresh.cell;
    state.locked = fresh.locked;
    state.view = fresh.view;
    state.shown_term = fresh.shown_term;
    state.attention = fresh.attention;
    state.decoder_head = fresh.decoder_head;
    state.strength = fresh.strength;
    state.decoder_view = fresh.decoder_view;
    state.decoder = fresh.decoder;
    state.choices = fresh.choices;
    state.positions = fresh.positions;
    state.rope = fresh.rope;
    state.memory = fresh.memory;
    state.permutation = fresh.permutation;
    state.compare = fresh.compare;
    const TrainingPageState training = state.training;
    state.training = fresh.training;
    state.training.run = training.run;  // what was learnt stays, and what it was learnt from
    state.training.steps = training.steps;
    state.training.seconds = training.seconds;
    state.training.seed = training.seed;
    state.training.corpus = training.corpus;
    const std::string documents = state.text_page.documents;
    state.text_page = fresh.text_page;
    state.text_page.documents = documents;
    state.editing = false;
}

void end_tour(State& state) {
    if (state.tour.step < 0) return;
    if (!state.tour.text.empty()) {
        state.text = state.tour.text;
        state.choices = state.tour.choices;
    }
    state.tour = {};
}

}  // namespace locus
