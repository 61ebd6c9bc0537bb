// All mistakes of a candidate: each failing stage is computed from the candidate's own inputs, and those that do not
// follow from them are judged one by one.
#include "core/conformance/diagnosis/all_mistakes.h"

#include <algorithm>
#include <deque>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/layout.h"
#include "core/conformance/diagnosis/other_function.h"
#include "core/conformance/diagnosis/other_parts.h"
#include "core/conformance/diagnosis/pairs.h"
#include "core/conformance/diagnosis/patterns.h"
#include "core/conformance/diagnosis/rows_read.h"
#include "core/conformance/diagnosis/saved.h"
#include "core/conformance/diagnosis/whole_pass.h"
#include "core/conformance/formulas/deberta.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

constexpr Index kFewestWrong = 3;  // fewer wrong values are no work of two formulas

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
        const auto remark = right_but_saved_otherwise(evidence_, verdict, right);
        auto saved = remark ? remark : saved_otherwise(own_, seen_, verdict, right, made_of_);
        own_.shared = std::make_shared<SharedWork>();
        if (!saved && !stage.diagnosis.named) saved = laid_out_otherwise(evidence_, verdict, right, stage.diagnosis);
        if (saved) {
            // Another stage's numbers that the port does not use were saved under the wrong name, and that is all.
            const auto only = remark ? remark : another_stage(evidence_, verdict);
            if (only) is_only(*only, stage.diagnosis);
            stage.saved = *saved;
            add_saved(std::move(stage), right);
            return false;
        }
        if (!stage.diagnosis.named && !has_no_number(evidence_, verdict)) {
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
        // What is wrong after it may follow from stages that the port does not report.
        const bool is_alone = std::none_of(seen_.stages.begin(), seen_.stages.end(), [&](const StageVerdict& each) {
            return !each.pass && each.name != verdict.name;
        });
        if (stage.diagnosis.named && !is_alone &&
            gives_all_reported(evidence_, seen_, verdict, *stage.diagnosis.named)) {
            stage.diagnosis.in_whole_pass = true;
            result.stages.push_back(std::move(stage));
            return true;
        }
        add(evidence_, seen_, verdict, {}, std::move(stage));
        return false;
    }

    /// Failing stages of one layer, by the candidate's own inputs: first those that follow from them, so that no
    /// mistake is named of one stage that makes another one wrong which is not.
    void judge_layer(const std::vector<StageVerdict>& verdicts) {
        own_.shared = std::make_shared<SharedWork>();  // what the layer before had is not needed again
        std::deque<StageVerdict> open;
        std::vector<StageVerdict> judged = verdicts;
        std::vector<std::vector<Formula>> assumed(judged.size());
        std::vector<char> is_explained(judged.size());
        share_out(judged.size(), evidence_.stop, [&](std::size_t n) {
            judged[n].tolerance = at_least_rounding(judged[n]);
            assumed[n] = assumed_at(judged[n].name);
            is_explained[n] = follows(judged[n], assumed[n]);
        });
        for (std::size_t n = 0; n < judged.size(); ++n) {
            throw_if_cancelled(evidence_.stop);
            if (is_explained[n] && !assumed[n].empty()) made_again(judged[n]);
            (is_explained[n] ? following_ : open).push_back(std::move(judged[n]));
        }
        while (!open.empty()) {
            throw_if_cancelled(evidence_.stop);
            const StageVerdict verdict = std::move(open.front());
            open.pop_front();
            const std::size_t said = result.stages.size();
            judge_behind(verdict);
            if (result.stages.size() > said && !result.stages.back().saved.empty()) reopen(open);
        }
        for (const StageVerdict& verdict : following_) settle(seen_, verdict.name);
        following_.clear();
    }

    AllMistakes result;

private:
    /// A tolerance that the user chose says what is red, not what rounding explains.
    Tolerance at_least_rounding(const StageVerdict& verdict) const {
        const Tolerance rounding =
            rounding_.of(*evidence_.reference.at(verdict.name), *evidence_.candidate.at(verdict.name));
        return {std::max(verdict.tolerance.relative, rounding.relative),
                std::max(verdict.tolerance.absolute, rounding.absolute)};
    }

    /// What followed from numbers that were only saved, as exchanged scores from exchanged terms, is judged after all.
    void reopen(std::deque<StageVerdict>& open) {
        const auto stays = [&](const StageVerdict& each) { return follows(each, assumed_at(each.name)); };
        const auto first = std::stable_partition(following_.begin(), following_.end(), stays);
        if (first == following_.end()) return;
        open.insert(open.end(), first, following_.end());
        following_.erase(first, following_.end());
        std::stable_sort(open.begin(), open.end(), [](const StageVerdict& a, const StageVerdict& b) {
            return stage_comes_before(a.name, b.name);
        });
    }

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

    /// The candidate beside a reference that has these values in the stage.
    Evidence beside(const StageVerdict& verdict, const Tensor<double>& right) const {
        Evidence other = evidence_;
        other.reference = with_values(evidence_.reference, verdict.name, right);
        other.shared = std::make_shared<SharedWork>();
        return other;
    }

    /// How the stage differs from these values, or that it is another one.
    std::string pattern_beside(const StageVerdict& verdict, const Tensor<double>& right) const {
        const auto other = another_stage(evidence_, verdict);
        return other ? *other : describe_difference(beside(verdict, right), verdict);
    }

    /// Scores after the mask; and in a layer whose context shows that it has the right numbers those in another layout,
    /// of another stage, or scaled already.
    std::optional<std::string> right_but_saved_otherwise(const Evidence& evidence, const StageVerdict& verdict,
                                                         const Tensor<double>& right) const {
        if (auto masked = saved_after_mask(evidence_, verdict, right)) return masked;
        if (!context_is_right(verdict.name)) return std::nullopt;
        if (auto layout = saved_layout(evidence, verdict)) return layout;
        if (auto other = another_stage(evidence_, verdict)) return other;
        return scaled_already(evidence, verdict);
    }

    /// Right numbers in another layout, with which the port does not go on; no mistake has a name there.
    std::optional<std::string> laid_out_otherwise(const Evidence& evidence, const StageVerdict& verdict,
                                                  const Tensor<double>& right, Diagnosis& diagnosis) const {
        const auto layout = saved_layout(evidence, verdict);
        if (!layout || goes_on_with_saved(own_, seen_, verdict, right, made_of_)) return std::nullopt;
        is_only(*layout, diagnosis);
        return layout;
    }

    /// Where the numbers are right, no mistake is behind the stage.
    static void is_only(const std::string& remark, Diagnosis& diagnosis) {
        diagnosis.named.reset();
        diagnosis.equivalent.clear();
        diagnosis.pattern = remark;
    }

    /// Terms, scores and probabilities that are all saved with queries and keys exchanged follow from one another; what
    /// the layer makes of them shows whether it computes with those.
    bool context_is_right(const std::string& stage) const {
        const auto known = describe_stage(stage);
        if (!known || known->axes.empty() || known->axes.back() != "Tk") return false;
        const std::string context = scope_and_stem(stage).first + "context";
        return std::any_of(seen_.stages.begin(), seen_.stages.end(),
                           [&](const StageVerdict& each) { return each.name == context && each.pass; });
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
        const Comparison seen = seen_at(verdict.name);
        // First: where all tokens have become alike, as behind random weights, numbers by a mistake that has a name
        // look like right ones in another layout.
        if (repeats(Judge(own_, seen, verdict, assumed), verdict, *leaves)) return;
        const Tensor<double> right = computed(verdict, assumed);
        const auto remark = right_but_saved_otherwise(beside(verdict, right), verdict, right);
        auto saved = remark ? remark : saved_otherwise(own_, seen_, verdict, right, made_of_);
        WrongStage stage{verdict.name, find_mistake(own_, seen, verdict, assumed), {}, "", ""};
        const auto only = remark || !saved ? remark : another_stage(evidence_, verdict);
        if (only)
            is_only(*only, stage.diagnosis);
        else if (saved)
            stage.diagnosis.pattern = pattern_beside(verdict, right);
        else if (!stage.diagnosis.named)
            saved = laid_out_otherwise(beside(verdict, right), verdict, right, stage.diagnosis);
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
        const auto take = [&](const WrongStage& before, const Explanation& named, const std::string& first_at) {
            std::optional<Explanation> again = made_once_more(judge, verdict, right, before, named);
            if (!again) return false;
            WrongStage stage{verdict.name, {}, {}, first_at, ""};
            stage.diagnosis.named = std::move(again);
            stage.diagnosis.runner_up = right;
            stage.diagnosis.equivalent = before.diagnosis.equivalent;
            result.stages.push_back(std::move(stage));
            return true;
        };
        for (const WrongStage& before : result.stages)
            if (before.diagnosis.named && before.first_at.empty() && before.saved.empty() &&
                take(before, *before.diagnosis.named, before.stage))
                return true;
        // Of two that met in one stage, another may have one alone.
        for (const WrongStage& before : result.stages)
            for (const Explanation& one : before.pair)
                if (before.first_at.empty() && take(before, one, "")) return true;
        return false;
    }

    std::optional<Explanation> made_once_more(const Judge& judge, const StageVerdict& verdict, const Explanation& right,
                                              const WrongStage& before, const Explanation& named) const {
        const std::string stem = scope_and_stem(verdict.name).second;
        if (scope_and_stem(before.stage).second != stem && !replaces(*named.way, stem)) return std::nullopt;
        if (judge.contradicted(mistake_of(named.mistake), *named.way)) return std::nullopt;
        const std::optional<Explanation> again = fitting(judge, named, right);
        return again ? again : fitting_right_inputs(verdict, named);
    }

    /// A stage that follows from a mistake which is known by now, in a stage of its own layer that nobody reports: the
    /// mistake is made there once more.
    void made_again(const StageVerdict& verdict) {
        const std::optional<Explanation> right = right_formula(verdict, {});
        if (right && right->residual > kBeyondRounding * right->allowed)
            repeats(Judge(own_, seen_, verdict), verdict, *right);
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

    /// The stage at which the same two mistakes were named first; "" where there is none.
    std::string first_with(const std::vector<Explanation>& pair) const {
        const auto same = [](const Explanation& a, const Explanation& b) { return a.way == b.way; };
        for (const WrongStage& before : result.stages)
            if (!pair.empty() && before.first_at.empty() &&
                std::equal(pair.begin(), pair.end(), before.pair.begin(), before.pair.end(), same))
                return before.stage;
        return "";
    }

    /// Takes a stage that was diagnosed, and looks for a pair where that gave no name.
    void add(const Evidence& evidence, const Comparison& seen, const StageVerdict& verdict,
             const std::vector<Formula>& assumed, WrongStage stage) {
        const std::vector<Explanation>& judged = stage.diagnosis.judged;
        const bool compared = verdict.worst >= 0 || verdict.reason.starts_with("shape");
        if (!stage.diagnosis.named && compared && verdict.wrong >= kFewestWrong &&
            !is_unwritten_gradient(evidence, verdict) && !has_no_number(evidence, verdict) &&
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
                stage.first_at = first_with(stage.pair);
            }
        }
        if (&evidence == &own_ && !stage.diagnosis.follows)
            stage.diagnosis.pattern = stage.explained() ? describe_difference(own_, verdict)
                                                        : pattern_beside(verdict, computed(verdict, assumed));
        if (!stage.explained() && !stage.diagnosis.follows && compared && verdict.wrong >= kFewestWrong &&
            !describe_rows_read(evidence, verdict, assumed, stage) &&
            !describe_function(evidence, verdict, assumed, stage))
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

    /// Which function stands in place of an activation, if it is one and no simpler rule gives its values.
    static bool describe_function(const Evidence& evidence, const StageVerdict& verdict,
                                  const std::vector<Formula>& assumed, WrongStage& stage) {
        const std::string stem = scope_and_stem(verdict.name).second;
        return beside_its_formula(evidence, verdict, assumed, [&](const Replay& here, const Compared& at) {
            auto said = function_instead(here, stem, at);
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
                    !is_of_right_shape(own_, own_.candidate, here.name_here(formula.stem).value_or("")))
                    assumed.push_back(formula);
        };
        for (const WrongStage& each : result.stages) {
            if (!each.first_at.empty() || !each.saved.empty()) continue;
            if (each.diagnosis.named) take(*each.diagnosis.named);
            for (const Explanation& one : each.pair) take(one);
        }
        return assumed;
    }

    /// What is right by the candidate's own inputs counts as right for the hypotheses about what stands after it.
    static void settle(Comparison& seen, const std::string& name) {
        for (StageVerdict& verdict : seen.stages)
            if (verdict.name == name) verdict.pass = true;
    }

    const Evidence& evidence_;
    const DerivedTolerances rounding_{evidence_.reference};
    Evidence own_;
    Comparison seen_;
    const MadeOf& made_of_;
    std::deque<StageVerdict> following_;  // failing stages of this layer that follow from the candidate's own inputs
    std::set<std::string> unexplained_;   // stems that two mistakes were tried at in vain
    std::map<std::string, std::string> said_;     // sentences about unexplained stages, and of which first
    std::map<std::string, bool> of_other_parts_;  // stems that other parts were tried at: whether some explain it
};

bool is_gradient(const std::string& stage) { return stage.starts_with("grad."); }

/// An automatic backward pass has the derivatives of what the forward pass computes, right or wrong.  So beside a stage
/// of the forward pass that is wrong by itself gradients prove nothing, and wait until it is right.
bool has_wrong_forward_pass(const AllMistakes& all) {
    return std::any_of(all.stages.begin(), all.stages.end(), [](const WrongStage& each) {
        return !is_gradient(each.stage) && each.saved.empty() && !each.diagnosis.follows;
    });
}

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
    const auto judge_layer = [&] {
        search.judge_layer(layer);
        layer.clear();
    };
    for (const StageVerdict& verdict : comparison.stages) {
        if (verdict.pass || verdict.name == first.name) continue;
        // Gradients stand behind all stages of the forward pass.
        const bool is_behind = !layer.empty() && is_gradient(layer.front().name) != is_gradient(verdict.name);
        if (is_behind || (!layer.empty() && around(layer.front().name) != around(verdict.name))) judge_layer();
        if (is_gradient(verdict.name) && has_wrong_forward_pass(search.result))
            search.result.not_judged.push_back(verdict.name);
        else
            layer.push_back(verdict);
    }
    judge_layer();
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
