#include "core/conformance/diagnosis/pairs.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace locus::conformance {

bool replaces(const Variant& variant, const std::string& stem) {
    return std::any_of(variant.formulas.begin(), variant.formulas.end(),
                       [&](const Formula& formula) { return formula.stem == stem; });
}

namespace {

constexpr std::size_t kMostPaired = 32;       // hypotheses that are tried in pairs,
constexpr std::size_t kMostOfOne = 120;       // and those that stand in place of the stage itself, or of stages
constexpr std::size_t kMostSteps = 2;         // that lie so many steps before it and are not reported
constexpr double kMostPairedValues = 1e9;     // values that all pairs together predict
constexpr Index kMostAlone = Index(1) << 25;  // values that are kept of stages as single mistakes make them: 256 MB

/// Two ways as one: where both stand in place of one formula the first is computed on top of the second.
struct Pair {
    std::size_t first_at = 0, second_at = 0;  // in the list of what is paired
    int first = 0, second = 0;
    const Variant *first_way = nullptr, *second_way = nullptr;
    Variant both;
    std::pair<int, int> numbers() const { return std::minmax(first, second); }
    bool has(int mistake) const { return first == mistake || second == mistake; }
    int other_than(int mistake) const { return first == mistake ? second : first; }
};

Pair pair_of(const std::vector<OpenHypothesis>& open, std::size_t a, std::size_t b) {
    const OpenHypothesis &first = open[a], &second = open[b];
    Pair pair{a, b, first.mistake, second.mistake, first.variant, second.variant, {}};
    pair.both.formulas = first.variant->formulas;
    pair.both.formulas.insert(pair.both.formulas.end(), second.variant->formulas.begin(),
                              second.variant->formulas.end());
    return pair;
}

bool meet(const Variant& a, const Variant& b) {
    return std::any_of(a.formulas.begin(), a.formulas.end(),
                       [&](const Formula& formula) { return replaces(b, formula.stem); });
}

/// What stands around a stage: itself, then what it is directly made of and the candidate does not report, and so on.
std::vector<std::string> unreported_before(const Evidence& evidence, const std::string& stage, std::size_t steps) {
    const auto [scope, stem] = scope_and_stem(stage);
    const Replay here(evidence, scope);
    std::vector<std::string> found = {stem}, last = {stem};
    for (std::size_t step = 0; step < steps; ++step) {
        std::vector<std::string> next;
        for (const std::string& each : last)
            for (const std::string& from : here.inputs_of(each))
                if (from != "x" && from != "x_q" && here.name_here(from) && !here.claimed(from) &&
                    std::find(found.begin(), found.end(), from) == found.end()) {
                    found.push_back(from);
                    next.push_back(from);
                }
        last = std::move(next);
    }
    return found;
}

/// The ways that say something about the stage; where they are too many, those that stand in place of it or of what it
/// is made of and nobody reports: the scores of probs, and as far back as there are not too many.
std::vector<OpenHypothesis> to_be_paired(const Evidence& evidence, const Judge& judge, const std::string& stage,
                                         const std::vector<Hypothesis>& alone) {
    const auto too_many = [&](std::size_t count, std::size_t most) {
        const double pairs = static_cast<double>(count * count);
        return count > most || pairs * static_cast<double>(judge.size()) > kMostPairedValues;
    };
    std::vector<OpenHypothesis> all;
    for (const Hypothesis& each : alone)
        if (each.explanation.mistake != 0) all.push_back({each.explanation.mistake, each.explanation.way});
    if (!too_many(all.size(), kMostPaired)) return all;
    std::vector<OpenHypothesis> best;
    for (std::size_t steps = 0; steps <= kMostSteps; ++steps) {
        const std::vector<std::string> stems = unreported_before(evidence, stage, steps);
        std::vector<OpenHypothesis> near;
        for (const OpenHypothesis& each : all)
            if (std::any_of(stems.begin(), stems.end(),
                            [&](const std::string& stem) { return replaces(*each.variant, stem); }))
                near.push_back(each);
        if (too_many(near.size(), kMostOfOne)) break;
        best = std::move(near);
    }
    return best;
}

/// True if a formula of this way asks for the one that it stands in place of: another mistake there shows through.
bool asks_for_what_it_replaces(const Judge& judge, const Variant& way) {
    bool asked = false;
    std::vector<Formula> formulas = way.formulas;
    for (const Formula& formula : way.formulas)
        formulas.push_back({formula.stem, formula.inputs, [&asked](const Replay&) -> Tensor<double> {
                                asked = true;
                                throw NotEnough{"another mistake"};
                            }});
    judge.computed(formulas);
    return asked;
}

/// Two of different mistakes each, in both orders where they meet and the first is computed on top of the second.
/// Throws Cancelled.
std::vector<Pair> pairs_of(const Judge& judge, const std::vector<OpenHypothesis>& open, const CancelToken& stop) {
    std::vector<char> asks(open.size());
    share_out(open.size(), stop, [&](std::size_t n) { asks[n] = asks_for_what_it_replaces(judge, *open[n].variant); });
    // The first by itself, which was judged before: nothing of the second is ever computed.
    const auto hides = [&](std::size_t a, std::size_t b) {
        return !asks[a] &&
               std::all_of(open[b].variant->formulas.begin(), open[b].variant->formulas.end(),
                           [&](const Formula& formula) { return replaces(*open[a].variant, formula.stem); });
    };
    std::vector<Pair> pairs;
    for (std::size_t a = 0; a < open.size(); ++a)
        for (std::size_t b = 0; b < open.size(); ++b) {
            if (open[a].mistake == open[b].mistake || hides(a, b)) continue;
            // Where they do not meet, either order is the same.
            if (a < b || meet(*open[a].variant, *open[b].variant)) pairs.push_back(pair_of(open, a, b));
        }
    return pairs;
}

/// Stages as each mistake alone makes them, kept for all pairs that it is in; several may ask at once.
class Alone {
public:
    Alone(const Judge& judge, const std::vector<OpenHypothesis>& open) {
        for (const OpenHypothesis& each : open) {
            ways_.push_back(each.variant);
            replays_.push_back(judge.replay(each.variant->formulas));
        }
    }
    /// What Replay::take wants to know of a pair.
    Replay::Apart apart(const Pair& pair) {
        const std::size_t a = pair.first_at, b = pair.second_at;
        if (reads_either(a, b)) return {};
        return [this, a, b](const std::string& stem) -> const Tensor<double>* {
            const std::lock_guard lock(busy_);
            const bool first = replays_[a].touches(stem), second = replays_[b].touches(stem);
            return first == second ? nullptr : kept(first ? a : b, stem);
        };
    }

private:
    bool reads_either(std::size_t a, std::size_t b) {
        const std::lock_guard lock(busy_);
        return reads_of(a, b) || reads_of(b, a);
    }
    /// True if a formula of the first reads what the second touches, although the right formula does not.
    bool reads_of(std::size_t a, std::size_t b) {
        const Replay& second = replays_[b];
        return std::any_of(ways_[a]->formulas.begin(), ways_[a]->formulas.end(), [&](const Formula& formula) {
            return !second.touches(formula.stem) &&
                   std::any_of(formula.inputs.begin(), formula.inputs.end(),
                               [&](const std::string& input) { return second.touches(input); });
        });
    }
    const Tensor<double>* kept(std::size_t n, const std::string& stem) {
        if (values_ >= kMostAlone) return nullptr;
        const Index before = replays_[n].kept_values();
        const Tensor<double>& stage = replays_[n](stem);
        values_ += replays_[n].kept_values() - before;
        return &stage;
    }

    std::mutex busy_;
    std::vector<const Variant*> ways_;
    std::vector<Replay> replays_;
    Index values_ = 0;  // that they keep together
};

/// "c2p alone; the same numbers here: mistake 12".
std::string with_equivalents(std::string how, const std::set<int>& mistakes) {
    for (const int mistake : mistakes)
        how += (how.empty() ? "" : "; ") + ("the same numbers here: mistake " + std::to_string(mistake));
    return how;
}

}  // namespace

std::vector<Explanation> pair_behind(const Evidence& evidence, const Judge& judge, const std::string& stage,
                                     const std::vector<Hypothesis>& alone, std::size_t& tried) {
    const std::vector<OpenHypothesis> ways = to_be_paired(evidence, judge, stage, alone);
    const std::vector<Pair> pairs = pairs_of(judge, ways, evidence.stop);
    Alone by_itself(judge, ways);
    tried += pairs.size();
    std::vector<OpenHypothesis> open;
    for (std::size_t n = 0; n < pairs.size(); ++n) open.push_back({static_cast<int>(n) + 1, &pairs[n].both});
    std::vector<Hypothesis> all = judge.judge_all(open, [&](std::size_t n) { return by_itself.apart(pairs[n]); });
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.explanation.residual < b.explanation.residual;
    });
    if (all.empty() || !all.front().explanation.fits()) return {};
    const auto of = [&](const Hypothesis& each) -> const Pair& {
        return pairs[static_cast<std::size_t>(each.explanation.mistake) - 1];
    };
    const Hypothesis& least = all.front();
    const auto far = [&](const Hypothesis& each) { return judge.is_far(each.explanation, least.explanation); };
    if (!std::all_of(alone.begin(), alone.end(), far)) return {};
    // Of pairs that make the very same numbers the one that stands first in the catalogue; where it has a mistake in
    // common with another one, what that has instead is said beside it.
    const double same = judge.rounding_beside(least.explanation) * std::max(largest_size(least.predicted), 1e-300);
    const Hypothesis* first = &least;
    for (const Hypothesis& each : all) {
        if (far(each) || of(each).numbers() == of(least).numbers()) continue;
        if (!each.explanation.fits() || !(largest_difference(each.predicted, least.predicted) <= same)) return {};
        if (of(each).numbers() < of(*first).numbers()) first = &each;
    }
    const Hypothesis& best = *first;
    std::set<int> beside_first, beside_second;
    for (const Hypothesis& each : all) {
        const Pair &pair = of(each), &named = of(best);
        if (pair.numbers() == named.numbers() || far(each)) continue;
        if (pair.has(named.second))
            beside_first.insert(pair.other_than(named.second));
        else if (pair.has(named.first))
            beside_second.insert(pair.other_than(named.first));
        else
            return {};
    }
    // Once more without what was kept of each alone: a formula may read more than it says.
    const std::optional<Hypothesis> whole = judge.judge(1, of(best).both);
    if (!whole || !whole->explanation.fits()) return {};
    // One that changes nothing by itself fits only because it puts the right formula back over a part of the other.
    if (!judge.changes(*of(best).first_way) || !judge.changes(*of(best).second_way)) return {};
    std::vector<Explanation> both(2, best.explanation);
    both[0].mistake = of(best).first;
    both[0].way = of(best).first_way;
    both[0].how = with_equivalents(both[0].way->how, beside_first);
    both[1].mistake = of(best).second;
    both[1].way = of(best).second_way;
    both[1].how = with_equivalents(both[1].way->how, beside_second);
    if (both[0].mistake > both[1].mistake) std::swap(both[0], both[1]);
    return both;
}

}  // namespace locus::conformance
