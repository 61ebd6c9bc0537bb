// All mistakes of a candidate: each failing stage is computed from the candidate's own inputs, and those that do not
// follow from them are judged one by one.
#include "core/conformance/diagnosis/all_mistakes.h"

#include <algorithm>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/other_parts.h"
#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/diagnosis/rows_read.h"
#include "core/conformance/diagnosis/saved.h"
#include "core/conformance/diagnosis/whole_pass.h"
#include "core/conformance/formulas/deberta.h"

namespace locus::conformance {

namespace {

constexpr std::size_t kMostPaired = 32;    // hypotheses that are tried in pairs,
constexpr std::size_t kMostOfOne = 96;     // and those that stand in place of the stage itself, or of stages
constexpr std::size_t kMostSteps = 2;      // that lie so many steps before it and are not reported
constexpr double kMostPairedValues = 1e9;  // values that all pairs together predict
constexpr Index kFewestWrong = 3;          // fewer wrong values are no work of two formulas

bool by_residual(const Hypothesis& a, const Hypothesis& b) { return a.explanation.residual < b.explanation.residual; }

// Pairs of mistakes in one stage.

/// Two ways as one: where both stand in place of one formula the first is computed on top of the second.
struct Pair {
    int first = 0, second = 0;
    const Variant *first_way = nullptr, *second_way = nullptr;
    Variant both;
    bool same_mistakes(const Pair& other) const {
        return std::minmax(first, second) == std::minmax(other.first, other.second);
    }
};

Pair pair_of(const OpenHypothesis& first, const OpenHypothesis& second) {
    Pair pair{first.mistake, second.mistake, first.variant, second.variant, {}};
    pair.both.formulas = first.variant->formulas;
    pair.both.formulas.insert(pair.both.formulas.end(), second.variant->formulas.begin(),
                              second.variant->formulas.end());
    return pair;
}

bool replaces(const Variant& variant, const std::string& stem) {
    return std::any_of(variant.formulas.begin(), variant.formulas.end(),
                       [&](const Formula& formula) { return formula.stem == stem; });
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
                if (from != "x" && from != "x_q" && !here.claimed(from) &&
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

std::vector<Pair> pairs_of(const std::vector<OpenHypothesis>& open) {
    std::vector<Pair> pairs;
    for (std::size_t a = 0; a < open.size(); ++a)
        for (std::size_t b = 0; b < open.size(); ++b) {
            if (open[a].mistake == open[b].mistake) continue;
            // Where they do not meet, either order is the same.
            if (a < b || meet(*open[a].variant, *open[b].variant)) pairs.push_back(pair_of(open[a], open[b]));
        }
    return pairs;
}

/// The two mistakes that explain the stage together: they leave no more than rounding, everything else that makes
/// other numbers is as far away as a name demands, and no other two mistakes make the same numbers.  Adds to `tried`.
std::vector<Explanation> pair_behind(const Evidence& evidence, const Judge& judge, const std::string& stage,
                                     const std::vector<Hypothesis>& alone, std::size_t& tried) {
    const std::vector<Pair> pairs = pairs_of(to_be_paired(evidence, judge, stage, alone));
    tried += pairs.size();
    std::vector<OpenHypothesis> open;
    for (std::size_t n = 0; n < pairs.size(); ++n) open.push_back({static_cast<int>(n) + 1, &pairs[n].both});
    std::vector<Hypothesis> all = judge.judge_all(open);
    std::stable_sort(all.begin(), all.end(), by_residual);
    if (all.empty() || !all.front().explanation.fits()) return {};
    const Hypothesis& best = all.front();
    const auto of = [&](const Hypothesis& each) -> const Pair& {
        return pairs[static_cast<std::size_t>(each.explanation.mistake) - 1];
    };
    const auto far = [&](const Hypothesis& each) { return judge.is_far(each.explanation, best.explanation); };
    if (!std::all_of(alone.begin(), alone.end(), far)) return {};
    for (const Hypothesis& each : all)
        if (!of(each).same_mistakes(of(best)) && !far(each)) return {};
    std::vector<Explanation> both(2, best.explanation);
    both[0].mistake = of(best).first;
    both[0].way = of(best).first_way;
    both[1].mistake = of(best).second;
    both[1].way = of(best).second_way;
    for (Explanation& each : both) each.how = each.way->how;
    if (both[0].mistake > both[1].mistake) std::swap(both[0], both[1]);
    return both;
}

// What follows from what.

/// Stages of the reference that follow from one that the candidate has wrong, and that it does not report, at least not
/// in the right shape.
std::set<std::string> not_its_own(const Comparison& comparison, const MadeOf& made_of) {
    std::set<std::string> wrong, found;
    std::map<std::string, bool> known;  // follows from a wrong one
    for (const StageVerdict& verdict : comparison.stages)
        if (!verdict.pass) wrong.insert(verdict.name);
    const std::function<bool(const std::string&)> follows = [&](const std::string& stage) {
        if (wrong.contains(stage)) return true;
        const auto [place, is_new] = known.emplace(stage, false);
        if (!is_new) return place->second;
        const auto from = made_of.find(stage);
        bool any = false;
        if (from != made_of.end()) any = std::any_of(from->second.begin(), from->second.end(), follows);
        return known[stage] = any;
    };
    for (const auto& [stage, from] : made_of)
        if (!wrong.contains(stage) && follows(stage)) found.insert(stage);
    for (const StageVerdict& verdict : comparison.stages) {
        found.erase(verdict.name);
        if (verdict.reason.starts_with("shape")) found.insert(verdict.name);  // its values stand in no place
    }
    return found;
}

/// "layer.3." of "layer.3.g.bd", "" where a stage stands in no layer: what is shared by the stages around it.
std::string around(const std::string& stage) {
    const std::string scope = scope_and_stem(stage).first;
    return scope.ends_with(".g.") ? scope.substr(0, scope.size() - 2) : scope;
}

/// Walks the failing stages in the order of the model.
class Search {
public:
    Search(const Evidence& evidence, const Comparison& comparison, const MadeOf& made_of)
        : evidence_(evidence), own_(evidence), seen_(comparison), made_of_(made_of) {
        own_.not_its_own = not_its_own(comparison, made_of);
        own_.shared = std::make_shared<SharedWork>();
    }

    /// By the reference, as diagnose() does.  True if one mistake, made in a whole pass, gives all that is reported.
    bool judge_first(const StageVerdict& verdict) {
        WrongStage stage{verdict.name, diagnose(evidence_, seen_, verdict), {}, "", ""};
        const Tensor<double> right = widened(*evidence_.reference.at(verdict.name));
        const auto masked = saved_after_mask(evidence_, verdict, right);
        const auto saved = masked ? masked : saved_otherwise(own_, seen_, verdict, right, made_of_);
        own_.shared = std::make_shared<SharedWork>();
        if (saved) {
            stage.saved = *saved;
            if (masked) stage.diagnosis.pattern = *masked;
            add_saved(std::move(stage), right);
            return false;
        }
        if (!stage.diagnosis.named) {
            const auto axes = other_layout(evidence_, verdict);
            if (axes && !goes_on_with_saved(own_, seen_, verdict, right, made_of_)) {
                stage.saved = stage.diagnosis.pattern = *axes;
                add_saved(std::move(stage), right);
                return false;
            }
            WholePassSearch passes = whole_pass_behind(evidence_, seen_, verdict);
            result.tokens_for_passes = passes.most_tokens;
            if (std::optional<WholePass>& whole = passes.found) {
                stage.diagnosis.named = std::move(whole->named);
                stage.diagnosis.equivalent = std::move(whole->equivalent);
                stage.diagnosis.runner_up = std::move(whole->runner_up);
                stage.diagnosis.in_whole_pass = true;
                result.stages.push_back(std::move(stage));
                return whole->complete;
            }
        }
        add(evidence_, seen_, verdict, {}, std::move(stage));
        return false;
    }

    /// Failing stages of one layer, by the candidate's own inputs: first those that follow from them, so that no
    /// mistake is named of one stage that makes another one wrong which is not.
    void judge_layer(const std::vector<StageVerdict>& verdicts) {
        own_.shared = std::make_shared<SharedWork>();  // what the layer before had is not needed again
        std::vector<StageVerdict> open;
        for (StageVerdict verdict : verdicts) {
            throw_if_cancelled(evidence_.stop);
            // A tolerance that the user chose says what is red, not what rounding explains.
            const Tolerance rounding = derived_tolerance(evidence_.reference, *evidence_.reference.at(verdict.name),
                                                         *evidence_.candidate.at(verdict.name));
            verdict.tolerance.relative = std::max(verdict.tolerance.relative, rounding.relative);
            verdict.tolerance.absolute = std::max(verdict.tolerance.absolute, rounding.absolute);
            (follows(verdict, assumed_at(verdict.name)) ? following_ : open).push_back(std::move(verdict));
        }
        for (const StageVerdict& verdict : open) {
            throw_if_cancelled(evidence_.stop);
            judge_behind(verdict);
        }
        for (const StageVerdict& verdict : following_) settle(seen_, verdict.name);
        following_.clear();
    }

    AllMistakes result;

private:
    /// True for a stage that follows from the candidate's own inputs.
    bool follows(const StageVerdict& verdict, const std::vector<Formula>& assumed) const {
        const std::optional<Explanation> right = right_formula(verdict, assumed);
        return (right && right->residual <= kBeyondRounding * right->allowed) ||
               (!assumed.empty() && (follows_without_assumptions(verdict) || follows_decoder(verdict, assumed)));
    }

    /// The mask decoder runs the last layer twice more, with the mistake that is in it, and few ports report that.
    bool follows_decoder(const StageVerdict& verdict, const std::vector<Formula>& assumed) const {
        if (!own_.model || !own_.model->deberta || own_.candidate.has("emd.1.output")) return false;
        const std::optional<Explanation> right = right_formula(verdict, decoder_of(assumed));
        return right && right->residual <= kBeyondRounding * right->allowed;
    }

    /// What counts as right for the hypotheses about a stage: also those of its layer that follow from the candidate's
    /// own inputs, this stage not among them.
    Comparison seen_at(const std::string& stage) const {
        Comparison seen = seen_;
        for (const StageVerdict& verdict : following_)
            if (!is_made_of(verdict.name, stage)) settle(seen, verdict.name);
        return seen;
    }

    bool is_made_of(const std::string& stage, const std::string& of) const {
        std::vector<std::string> open = {stage};
        std::set<std::string> looked;
        while (!open.empty()) {
            const std::string one = std::move(open.back());
            open.pop_back();
            if (one == of) return true;
            const auto from = made_of_.find(one);
            if (from == made_of_.end() || !looked.insert(one).second || around(one) != around(of)) continue;
            open.insert(open.end(), from->second.begin(), from->second.end());
        }
        return false;
    }

    /// What the right formula leaves of the candidate's own inputs; nothing where it cannot be computed.
    std::optional<Explanation> right_formula(const StageVerdict& verdict, const std::vector<Formula>& assumed) const {
        static const Variant as_it_should_be;
        const std::optional<Hypothesis> right = Judge(own_, seen_, verdict, assumed).judge(0, as_it_should_be);
        return right ? std::optional(right->explanation) : std::nullopt;
    }

    /// What the right formula makes of the candidate's own inputs.  Throws NotEnough.
    Tensor<double> computed(const StageVerdict& verdict, const std::vector<Formula>& assumed) const {
        const auto [scope, stem] = scope_and_stem(verdict.name);
        return Replay(own_, scope, {}, assumed).computed(stem);
    }

    /// What is said of the stage beside these values of its own.
    template <class Describe>
    auto beside(const StageVerdict& verdict, const Tensor<double>& right, Describe describe) const {
        Trace alone;
        Stage stage = *evidence_.reference.at(verdict.name);
        stage.values = right;
        alone.add(std::move(stage));
        return describe({alone, evidence_.candidate, evidence_.model, evidence_.segments}, verdict);
    }

    /// How the stage differs from these values, or that it is another one.
    std::string pattern_beside(const StageVerdict& verdict, const Tensor<double>& right) const {
        const auto other = another_stage(evidence_, verdict);
        return other ? *other : beside(verdict, right, describe_difference);
    }

    void judge_behind(const StageVerdict& verdict) {
        const std::vector<Formula> assumed = assumed_at(verdict.name);
        // A mistake that was named in this layer since may explain it.
        if (follows(verdict, assumed)) return settle(seen_, verdict.name);
        const std::optional<Explanation> leaves = right_formula(verdict, assumed);
        if (!leaves) {
            result.not_judged.push_back(verdict.name);
            return;
        }
        const Tensor<double> right = computed(verdict, assumed);
        const Comparison seen = seen_at(verdict.name);
        const Judge judge(own_, seen, verdict, assumed);
        const auto masked = saved_after_mask(evidence_, verdict, right);
        auto saved = masked ? masked : saved_otherwise(own_, seen_, verdict, right, made_of_);
        if (!saved && repeats(judge, verdict, *leaves)) return;
        WrongStage stage{verdict.name, diagnose(own_, seen, verdict, assumed), {}, "", ""};
        if (saved) {
            stage.diagnosis.pattern = masked ? *masked : pattern_beside(verdict, right);
        } else if (!stage.diagnosis.named) {
            const auto axes = beside(verdict, right, other_layout);
            if (axes && !goes_on_with_saved(own_, seen_, verdict, right, made_of_))
                saved = stage.diagnosis.pattern = *axes;
        }
        if (!saved) return add(own_, seen, verdict, assumed, std::move(stage));
        stage.saved = std::move(*saved);
        add_saved(std::move(stage), right);
    }

    /// Takes a stage that is computed rightly: the port goes on with these values, not with what it saved.
    void add_saved(WrongStage stage, const Tensor<double>& right) {
        own_.candidate = with_values(own_.candidate, stage.stage, right);
        own_.not_its_own.erase(stage.stage);
        own_.shared = std::make_shared<SharedWork>();
        settle(seen_, stage.stage);
        for (const WrongStage& before : result.stages)  // axes in the same order
            if (before.saved == stage.saved && stage.first_at.empty()) stage.first_at = before.stage;
        result.stages.push_back(std::move(stage));
    }

    /// What the candidate reports between a mistake that was named and this stage may rule out what the mistake would
    /// do to stages that nobody reports: then the right formula gives the stage, and the assumed ones do not.
    bool follows_without_assumptions(const StageVerdict& verdict) const {
        const std::optional<Explanation> right = right_formula(verdict, {});
        return right && right->fits();
    }

    /// The same mistake at another layer, or in another stage that it makes wrong too: it fits, and the right formula
    /// is as far away as a name demands.
    bool repeats(const Judge& judge, const StageVerdict& verdict, const Explanation& right) {
        const std::string stem = scope_and_stem(verdict.name).second;
        for (std::size_t n = 0; n < result.stages.size(); ++n) {
            const WrongStage& before = result.stages[n];
            if (!before.first_at.empty() || !before.diagnosis.named || !before.saved.empty()) continue;
            const Explanation& named = *before.diagnosis.named;
            if (scope_and_stem(before.stage).second != stem && !replaces(*named.way, stem)) continue;
            if (judge.contradicted(mistake_of(named.mistake), *named.way)) continue;
            std::optional<Explanation> again = fitting(judge, named, right);
            if (!again) again = fitting_right_inputs(verdict, named);
            if (!again) continue;
            WrongStage stage{verdict.name, {}, {}, before.stage, ""};
            stage.diagnosis.named = again;
            stage.diagnosis.runner_up = right;
            stage.diagnosis.equivalent = before.diagnosis.equivalent;
            result.stages.push_back(std::move(stage));
            return true;
        }
        return false;
    }

    /// The mistake, if it fits a stage and the right formula is as far away as a name demands.
    static std::optional<Explanation> fitting(const Judge& judge, const Explanation& named, const Explanation& right) {
        const std::optional<Hypothesis> again = judge.judge(named.mistake, *named.way);
        if (!again || !again->explanation.fits()) return std::nullopt;
        if (right.residual < kBeyondBest * again->explanation.residual) return std::nullopt;
        return again->explanation;
    }

    /// The same by the reference's values before the stage, not by the candidate's: what is saved wrongly in every
    /// layer, such as a list of outputs that begins one too early, is computed from none of what is saved.
    std::optional<Explanation> fitting_right_inputs(const StageVerdict& verdict, const Explanation& named) const {
        static const Variant as_it_should_be;
        Trace alone;
        alone.add(*evidence_.candidate.at(verdict.name));
        Evidence by_reference = evidence_;
        by_reference.candidate = alone;
        by_reference.shared = std::make_shared<SharedWork>();
        const Judge judge(by_reference, seen_, verdict);
        const std::optional<Hypothesis> right = judge.judge(0, as_it_should_be);
        return right ? fitting(judge, named, right->explanation) : std::nullopt;
    }

    /// Takes a stage that was diagnosed, and looks for a pair where that gave no name.
    void add(const Evidence& evidence, const Comparison& seen, const StageVerdict& verdict,
             const std::vector<Formula>& assumed, WrongStage stage) {
        const std::vector<Explanation>& judged = stage.diagnosis.judged;
        const bool compared = verdict.worst >= 0 || verdict.reason.starts_with("shape");
        if (!stage.diagnosis.named && compared && verdict.wrong >= kFewestWrong &&
            std::none_of(judged.begin(), judged.end(), [](const Explanation& each) { return each.fits(); })) {
            const Judge judge(evidence, seen, verdict, assumed);
            // What is wrong in a layer may have been wrong in those before; one number is one mistake, whichever two
            // would make the same; and what no two explain in one layer is the same in the next.
            const auto [scope, stem] = scope_and_stem(verdict.name);
            if (!are_layers_before_unknown(Replay(evidence, scope), seen)) {
                if (!unexplained_.contains(stem) && !off_by_a_factor(evidence, verdict, assumed))
                    stage.pair = pair_behind(evidence, judge, verdict.name, judge.judge_all(judge.open_hypotheses()),
                                             result.pairs_tried);
                if (stage.pair.empty()) unexplained_.insert(stem);
            }
        }
        if (&evidence == &own_ && !stage.explained() && !stage.diagnosis.follows)
            stage.diagnosis.pattern = pattern_beside(verdict, computed(verdict, assumed));
        if (!stage.explained() && !stage.diagnosis.follows && compared && verdict.wrong >= kFewestWrong &&
            !describe_rows_read(evidence, verdict, assumed, stage))
            describe_parts(evidence, seen, verdict, assumed, stage);
        find_said_before(stage);
        result.stages.push_back(std::move(stage));
    }

    /// Which rows an unexplained gather read, if that is known and no simpler rule gives its values.
    static bool describe_rows_read(const Evidence& evidence, const StageVerdict& verdict,
                                   const std::vector<Formula>& assumed, WrongStage& stage) {
        const auto [scope, stem] = scope_and_stem(verdict.name);
        return beside_its_formula(evidence, verdict, assumed, [&, stem = stem](const Replay& here, const Compared& at) {
            auto said = rows_read_instead(here, stem, at);
            if (!said || pattern_of_values(at)) return false;
            stage.diagnosis.pattern = std::move(*said);
            return true;
        });
    }

    /// What an unexplained stage is made of, if that is known.  What nothing explains in one layer is not searched in
    /// the next, and what something explains is as likely to be explained by the same there.
    void describe_parts(const Evidence& evidence, const Comparison& seen, const StageVerdict& verdict,
                        const std::vector<Formula>& assumed, WrongStage& stage) {
        const std::string stem = scope_and_stem(verdict.name).second;
        const auto before = of_other_parts_.find(stem);
        const bool known = before != of_other_parts_.end();
        if ((known && !before->second) || off_by_a_factor(evidence, verdict, assumed)) return;
        auto parts = made_of_other_parts(evidence, seen, verdict, assumed, known);
        if (!known) of_other_parts_[stem] = parts.has_value();
        if (parts) stage.diagnosis.pattern = std::move(*parts);
    }

    /// What was said of a stage before, maybe of another layer's whose stages have other names, is the same here.
    void find_said_before(WrongStage& stage) {
        const std::string& pattern = stage.diagnosis.pattern;
        if (stage.explained() || stage.diagnosis.follows || pattern.empty() || pattern == kNoPattern) return;
        const std::string scope = scope_and_stem(stage.stage).first;
        std::string words = pattern;
        for (std::size_t at = words.find(scope); !scope.empty() && at != std::string::npos; at = words.find(scope, at))
            words.erase(at, scope.size());
        const std::string& first = said_.emplace(words, stage.stage).first->second;
        if (first != stage.stage) stage.first_at = first;
    }

    /// Nothing is known of the layers before this one: the candidate does not report what it begins with, and has
    /// no stage of a layer right.
    static bool are_layers_before_unknown(const Replay& here, const Comparison& seen) {
        const auto is_of_layer = [](const std::string& scope) { return scope.find("layer.") != std::string::npos; };
        if (!is_of_layer(here.scope()) || here.layer() == 0 || here.claimed("x")) return false;
        return std::none_of(seen.stages.begin(), seen.stages.end(), [&](const StageVerdict& each) {
            return each.pass && is_of_layer(scope_and_stem(each.name).first);
        });
    }

    /// Every value is the same number times what the right formula gives.
    static bool off_by_a_factor(const Evidence& evidence, const StageVerdict& verdict,
                                const std::vector<Formula>& assumed) {
        return beside_its_formula(evidence, verdict, assumed,
                                  [](const Replay&, const Compared& at) { return common_factor(at).has_value(); });
    }

    /// What `look` sees in a stage beside the values that the right formula gives; false where it gives none.
    template <class Look>
    static bool beside_its_formula(const Evidence& evidence, const StageVerdict& verdict,
                                   const std::vector<Formula>& assumed, Look look) try {
        const auto [scope, stem] = scope_and_stem(verdict.name);
        const Replay here(evidence, scope, {}, assumed);
        const Tensor<double> right = here.computed(stem), found = widened(*evidence.candidate.at(verdict.name));
        if (right.shape() != found.shape()) return false;
        const double allowed = verdict.tolerance.absolute + verdict.tolerance.relative * largest_size(right);
        return look(here, Compared{right, found, allowed, evidence.reference.at(verdict.name)->axes});
    } catch (const NotEnough&) {
        return false;
    } catch (const Error&) {  // shapes that do not fit the formula
        return false;
    }

    /// Formulas of the mistakes that are known by now, in stages that the candidate does not report.
    std::vector<Formula> assumed_at(const std::string& stage) const {
        const Replay here(own_, scope_and_stem(stage).first);
        std::vector<Formula> assumed;
        const auto take = [&](const Explanation& each) {
            for (const Formula& formula : each.way->formulas)
                if (formula.stem != "x" && formula.stem != "x_q" &&
                    !is_of_right_shape(own_, own_.candidate, name_of(here, formula)))
                    assumed.push_back(formula);
        };
        for (const WrongStage& each : result.stages) {
            if (!each.first_at.empty() || !each.saved.empty()) continue;
            if (each.diagnosis.named) take(*each.diagnosis.named);
            for (const Explanation& one : each.pair) take(one);
        }
        return assumed;
    }

    static std::string name_of(const Replay& here, const Formula& formula) try {
        return here.full_name(formula.stem);
    } catch (const NotEnough&) {  // it stands in a layer, and this is none
        return "";
    }

    /// What is right by the candidate's own inputs counts as right for the hypotheses about what stands after it.
    static void settle(Comparison& seen, const std::string& name) {
        for (StageVerdict& verdict : seen.stages)
            if (verdict.name == name) verdict.pass = true;
    }

    const Evidence& evidence_;
    Evidence own_;
    Comparison seen_;
    const MadeOf& made_of_;
    std::vector<StageVerdict> following_;  // failing stages of this layer that follow from the candidate's own inputs
    std::set<std::string> unexplained_;    // stems that two mistakes were tried at in vain
    std::map<std::string, std::string> said_;     // sentences about unexplained stages, and of which first
    std::map<std::string, bool> of_other_parts_;  // stems that other parts were tried at: whether some explain it
};

}  // namespace

const char* repaired_word(Repaired repaired) {
    return repaired == Repaired::yes ? "yes" : repaired == Repaired::no ? "no" : "unknown";
}

AllMistakes diagnose_all(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first,
                         const MadeOf& made_of) {
    Search search(evidence, comparison, made_of);
    if (search.judge_first(first)) {
        search.result.repaired = Repaired::yes;
        return std::move(search.result);
    }
    std::vector<StageVerdict> layer;
    for (const StageVerdict& verdict : comparison.stages) {
        if (verdict.pass || verdict.name == first.name) continue;
        if (!layer.empty() && around(layer.front().name) != around(verdict.name)) {
            search.judge_layer(layer);
            layer.clear();
        }
        layer.push_back(verdict);
    }
    search.judge_layer(layer);
    AllMistakes all = std::move(search.result);
    const bool explained = std::all_of(all.stages.begin(), all.stages.end(), [](const WrongStage& each) {
        return each.explained() || each.diagnosis.follows;
    });
    const bool known =
        all.not_judged.empty() && std::none_of(all.stages.begin(), all.stages.end(),
                                               [](const WrongStage& each) { return each.diagnosis.follows; });
    all.repaired = !explained ? Repaired::no : known ? Repaired::yes : Repaired::unknown;
    return all;
}

}  // namespace locus::conformance
