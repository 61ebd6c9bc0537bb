#include "viewer/state/history.h"

#include "viewer/state/state_fields.h"

namespace locus {

namespace {

bool ends_with_part(const std::string& name, const std::string& part) {
    return name == part || name.ends_with("." + part);
}

/// "locked" for "cell", "compare.locked" for "compare.cell".
std::string sibling(const std::string& name, const std::string& part) {
    const std::size_t dot = name.rfind('.');
    return dot == std::string::npos ? part : name.substr(0, dot + 1) + part;
}

/// Values of all fields, empty for cells that follow the pointer.
std::vector<std::string> values_of(const State& state) {
    const std::vector<StateField>& fields = state_fields();
    const auto says = [&](const std::string& name, const std::string& value) {
        for (const StateField& field : fields)
            if (field.name == name) return field.get(state) == value;
        return false;
    };
    std::vector<std::string> values;
    for (const StateField& field : fields) {
        const bool hovers = ends_with_part(field.name, "cell") && says(sibling(field.name, "locked"), "no");
        values.push_back(hovers ? std::string() : field.get(state));
    }
    return values;
}

/// Places where both say something, and not the same.
std::vector<std::size_t> differences(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::size_t> changed;
    for (std::size_t n = 0; n < a.size(); ++n)
        if (a[n] != b[n] && !a[n].empty() && !b[n].empty()) changed.push_back(n);
    // A text that becomes empty has changed all the same.
    for (std::size_t n = 0; n < a.size(); ++n)
        if (a[n].empty() != b[n].empty() && !ends_with_part(state_fields()[n].name, "cell")) changed.push_back(n);
    return changed;
}

}  // namespace

State shown_again(const State& past, const State& present) {
    State state = past;
    state.model = present.model;
    state.wanted_model = past.model == present.model ? std::string() : past.model;
    state.editing = false;
    state.exports = present.exports;
    state.flash_until = 0;
    state.palette = present.palette;
    state.key_overlay = present.key_overlay;
    state.recent = present.recent;
    state.dropped = present.dropped;
    state.notice = present.notice;
    state.refusal = present.refusal;
    return state;
}

void History::observe(const State& state, double now, bool by_hand, bool held) {
    Moment moment{state, values_of(state)};
    if (!present_ || !by_hand) {
        present_ = std::move(moment);
        return;
    }
    const std::vector<std::size_t> changed = differences(present_->values, moment.values);
    if (!changed.empty()) {
        const bool goes_on = changed == changed_ && !past_.empty() && future_.empty() &&
                             (held || state.editing || now - changed_at_ < kPause);
        if (!goes_on) {
            past_.push_back(std::move(*present_));
            if (past_.size() > kMost) past_.pop_front();
            changed_ = changed;
        }
        changed_at_ = now;
        future_.clear();
    }
    present_ = std::move(moment);
}

std::optional<State> History::travel(const State& present, std::deque<Moment>& from, std::deque<Moment>& to) {
    if (from.empty() || !present_) return std::nullopt;
    to.push_back(std::move(*present_));
    present_ = std::move(from.back());
    from.pop_back();
    changed_.clear();
    return shown_again(present_->state, present);
}

std::optional<State> History::undo(const State& present) { return travel(present, past_, future_); }

std::optional<State> History::redo(const State& present) { return travel(present, future_, past_); }

}  // namespace locus
