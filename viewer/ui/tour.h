#pragma once
// The three-minute tour: a page after the other, each with one sentence that says what to see.
#include <string>
#include <vector>

#include "core/tensor.h"
#include "viewer/state/model_choice.h"

namespace locus {

struct State;

/// Where the tour is.
struct TourState {
    Index step = -1;       // -1: there is no tour
    std::string text;      // the reader's sentence, given back in the end
    ModelChoices choices;  // the same of the other families' models and sentences
};

struct TourStep {
    const char* page;
    const char* sentence;
};
const std::vector<TourStep>& tour_steps();

/// Turns to a step and sets its page to what the sentence speaks of; the reader's documents stay.  A step before the
/// first is the first one, one after the last ends the tour.  `layers` and `heads` are the opened model's.
void go_to_step(State& state, Index step, Index layers, Index heads);
/// Gives the reader's sentence back; the page stays.
void end_tour(State& state);

}  // namespace locus
