#pragma once
// What was seen before: undo and redo of the view.
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "viewer/state/state.h"

namespace locus {

/// Steps of the state.  What the pointer does by hovering, what an animation does by itself and what is merely above
/// the page (palette, list of keys, toasts) are no steps; a drag, a run of the same key and one visit to the text box
/// are one.
class History {
public:
    static constexpr std::size_t kMost = 200;  // steps that are kept
    static constexpr double kPause = 0.8;      // seconds: a change of the same fields after more is a step of its own

    /// Looks at the state once per frame.  `by_hand`: the user used the keyboard or the mouse in it; what changes
    /// without that follows from a step and is none.  `held`: a button of the mouse is down.
    void observe(const State& state, double now, bool by_hand, bool held = false);

    /// The state one step back or forth; nothing where there is none.  What does not belong to the view is the present
    /// state's.  Where another model was open then, it becomes State::wanted_model.
    std::optional<State> undo(const State& present);
    std::optional<State> redo(const State& present);

private:
    struct Moment {
        State state;
        std::vector<std::string> values;  // of state_fields; empty where it does not count
    };
    std::optional<State> travel(const State& present, std::deque<Moment>& from, std::deque<Moment>& to);

    std::optional<Moment> present_;
    std::deque<Moment> past_, future_;
    std::vector<std::size_t> changed_;  // fields of the newest step
    double changed_at_ = 0;
};

/// A past state that is shown now: open overlays, recents, sentences and the model stay as they are at present.
State shown_again(const State& past, const State& present);

}  // namespace locus
