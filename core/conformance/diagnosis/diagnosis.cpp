// A diagnosis: every mistake of the catalogue becomes a hypothesis, the stage that each predicts is held against what
// the candidate reports, and a name is given where exactly one of them fits.
#include "core/conformance/diagnosis/diagnosis.h"

#include <algorithm>
#include <cmath>

#include "core/conformance/diagnosis/judge.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

/// What a stage is directly made of.
struct Inputs {
    bool are_reported = false;            // all that the reference has
    std::string not_compared = {};        // one that the candidate reports and the reference has not
    const StageVerdict* worst = nullptr;  // uses most of what it may differ; nullptr if all are exact
};

Inputs inputs_of(const Evidence& evidence, const Comparison& comparison, const std::string& stage) try {
    const auto [scope, stem] = scope_and_stem(stage);
    const Replay here(evidence, scope);
    Inputs inputs{.are_reported = true};
    std::vector<std::string> made_of = here.inputs_of(stem);
    for (std::size_t n = 0; n < made_of.size(); ++n) {
        const std::string input = made_of[n], name = here.full_name(input);
        if (!evidence.reference.has(name)) {
            if (evidence.candidate.has(name)) inputs.not_compared = name;
            // No stage, as the mask; or one that this model has not, as output_before_conv without a convolution:
            // then what that is made of within the layer.
            if (!input.starts_with('/'))
                for (const std::string& from : here.inputs_of(input))
                    if (std::find(made_of.begin(), made_of.end(), from) == made_of.end() && !from.starts_with('/'))
                        made_of.push_back(from);
            continue;
        }
        const auto found = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                        [&](const StageVerdict& each) { return each.name == name; });
        if (found == comparison.stages.end()) return {};
        if (found->share() > (inputs.worst ? inputs.worst->share() : 0)) inputs.worst = &*found;
    }
    return inputs;
} catch (const NotEnough&) {  // it is not known where its inputs stand
    return {};
}

/// Where the difference of a stage began that follows by the right formula from what the candidate reports: back from
/// input to input, as long as all are reported.
std::string where_it_began(const Evidence& evidence, const Comparison& comparison, const std::string& stage) {
    constexpr double kSeen = 0.1, kNothing = 0.01;  // of what it may differ
    Inputs inputs = inputs_of(evidence, comparison, stage);
    if (!inputs.are_reported) return "so the mistake lies in a stage that it does not report";
    const auto not_compared = [](const std::string& name) {
        return "so the mistake lies in what it is made of, such as " + name + ", which the reference does not hold";
    };
    if (!inputs.not_compared.empty()) return not_compared(inputs.not_compared);
    const StageVerdict* first = inputs.worst;
    if (!first || first->share() < kNothing)
        return "and what it is made of is right to a hundredth of what it may be off: the rest is rounding of this "
               "step";
    for (std::size_t steps = comparison.stages.size(); steps > 0; --steps) {
        inputs = inputs_of(evidence, comparison, first->name);
        if (!inputs.not_compared.empty()) return not_compared(inputs.not_compared);
        if (!inputs.worst || inputs.worst->share() < kSeen) break;
        first = inputs.worst;
    }
    const auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + " %"; };
    return "so the difference came with what it is made of: it is seen first at " + first->name + ", which is off by " +
           percent(first->share()) + " of what it may be";
}

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
                   const std::vector<Formula>& assumed) {
    Diagnosis diagnosis = find_mistake(evidence, comparison, verdict, assumed);
    if (!diagnosis.follows) diagnosis.pattern = describe_difference(evidence, verdict);
    return diagnosis;
}

Diagnosis find_mistake(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
                       const std::vector<Formula>& assumed) {
    Diagnosis diagnosis;
    if (is_unwritten_gradient(evidence, verdict) || has_no_number(evidence, verdict)) return diagnosis;
    // Nothing was compared: a mistake may explain another shape, none explains another dtype.
    if (verdict.worst < 0 && !verdict.reason.starts_with("shape")) return diagnosis;
    const Judge judge(evidence, comparison, verdict, assumed);
    std::vector<Hypothesis> all = judge.judge_all(judge.open_hypotheses());
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.explanation.residual < b.explanation.residual;
    });
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Hypothesis& each) {
                                 return each.explanation.mistake != 0 && each.explanation.fits() &&
                                        judge.changes_right_neighbours(*each.variant);
                             }),
              all.end());
    settle_ties(all, judge);
    prefer_first_way(all, judge);
    for (const Hypothesis& each : all) diagnosis.judged.push_back(each.explanation);
    if (all.empty()) return diagnosis;

    const Hypothesis& best = all.front();
    const double rounding = judge.rounding_beside(best.explanation);
    const double same = rounding * std::max(largest_size(best.predicted), 1e-300);
    const Hypothesis* next = nullptr;
    for (std::size_t n = 1; n < all.size() && !next; ++n) {
        if (all[n].explanation.mistake == best.explanation.mistake) continue;
        if (best.explanation.fits() && largest_difference(all[n].predicted, best.predicted) <= same) {
            if (diagnosis.equivalent.empty() || diagnosis.equivalent.back() != all[n].explanation.mistake)
                diagnosis.equivalent.push_back(all[n].explanation.mistake);
        } else {
            next = &all[n];
        }
    }
    if (next) diagnosis.runner_up = next->explanation;
    const bool far = !next || judge.is_far(next->explanation, best.explanation);
    const bool right_too =
        std::find(diagnosis.equivalent.begin(), diagnosis.equivalent.end(), 0) != diagnosis.equivalent.end();
    diagnosis.follows = best.explanation.mistake == 0 && best.explanation.fits();
    if (diagnosis.follows)
        diagnosis.pattern = verdict.name + " follows from what the candidate reports by the right formula, " +
                            where_it_began(evidence, comparison, verdict.name);
    else if (best.explanation.fits() && far && !right_too)
        diagnosis.named = best.explanation;
    return diagnosis;
}

std::optional<Nearest> nearest_of(const Diagnosis& diagnosis) {
    if (diagnosis.named || diagnosis.follows) return std::nullopt;
    const std::vector<Explanation>& judged = diagnosis.judged;  // best first
    const auto find = [&](bool is_right) {
        return std::find_if(judged.begin(), judged.end(), [&](const Explanation& each) {
            return (each.mistake == 0) == is_right && (is_right || !each.is_bound);
        });
    };
    const auto best = find(false), right = find(true);
    if (best == judged.end()) return std::nullopt;
    if (right == judged.end()) return best->fits() ? std::optional(Nearest{*best, std::nullopt}) : std::nullopt;
    // Of another shape, or where there is a NaN, nothing is near.
    if (!(std::isfinite(best->residual) && best->residual <= right->residual / 10)) return std::nullopt;
    return Nearest{*best, right->residual};
}

// Mistakes that make the same numbers.

const std::vector<Equivalent>& equivalents() {
    static const std::vector<Equivalent> all = {
        {1, 5, false, "models without c2p, and dumps of p2c alone",
         "5 turns the offset in both terms, 1 in p2c alone; where only p2c is seen it is the same turn"},
        {4, 5, false, "models without p2c, and dumps of c2p or the index alone",
         "5 turns the offset in both terms, 4 in c2p alone; where only c2p is seen it is the same turn"},
        {7, 11, false, "texts one token shorter than the span",
         "a slice of k - T = 1 rows less is a centre off by one"},
        {7, 18, false, "M = b + 1", "a centre at M is a centre at k + 1"},
        {13, 14, false, "dumps of the index alone",
         "14 has the index of 13; what it adds is which rows of the table each sample gets"},
        {16, 17, false, "texts whose far keys lie in few buckets",
         "mid buckets instead of mid - 1 are one more than up wherever the text reaches"},
        {16, 19, false, "texts whose far keys on the right all lie in one bucket",
         "a bucket that is one too near, or that its sign has lost, is the same row there"},
        {16, 20, false, "texts of no more than b tokens",
         "ceil of ln 1 and floor of anything below 1 are both 0, so all buckets up to 2 mid are mid"},
        {21, 84, false, "texts that reach M - 1 and no other offset whose bucket is not itself",
         "both have the row after the end there, clamped to the last one"},
        {24, 102, false, "dumps of scores alone, of models with one position term",
         "what is missing is q times the key's bias, or the query's bias times k, from c2c or from the position term"},
        {27, 30, false, "numbers of heads that are numbers of terms, H = 2, 3, 4",
         "sqrt(D) = sqrt(H d) is the scale of H terms"},
        {28, 126, false, "models whose heads have 4 channels",
         "a term that is not divided by sqrt(4) is the same as one that is added twice"},
        {33, 35, true, "",
         "a constant that overflows to -inf leaves NaN in rows without keys: that is how most of them get it"},
        {40, 52, false, "an eps that is seen in the head alone",
         "where the rows of the layers have a variance that hides it, the head's eps and that of every norm look "
         "alike"},
        {57, 63, false, "dumps without the tables of angles", "with every token at position 0 nothing is rotated"},
        {61, 91, false, "heads of 4 or 6 channels",
         "of two or three pairs all angles are 1, whether 2t / d is divided as integers or pair 0 is used again"},
        {66, 72, false, "inputs in which perm_mask alone hides something",
         "where it is not applied nothing is hidden, as where hidden cells are used"},
        {67, 105, false, "masks that show one distance alone",
         "of one column the neighbour and the mirror image may be the same"},
        {79, 129, false, "batches of sqrt(d) texts, and dumps of the gradients of what they share alone",
         "a mean over B texts and a scale 1 / sqrt(d) that was applied twice are the same factor"},
    };
    return all;
}

bool equivalent(int a, int b) {
    return a == b || std::any_of(equivalents().begin(), equivalents().end(), [&](const Equivalent& pair) {
               return pair.everywhere && pair.first == std::min(a, b) && pair.second == std::max(a, b);
           });
}

// What to pass so that more mistakes can be judged.

namespace {

/// True where a hypothesis cannot say what the stage would be for want of a model or of inputs, which the user could
/// pass.
bool lacks_input_or_model(const Evidence& evidence, const std::string& stage, const Variant& variant) {
    const auto [scope, stem] = scope_and_stem(stage);
    try {
        const Replay replay(evidence, scope, variant.formulas);
        if (replay.touches(stem)) replay.computed(stem);
    } catch (const NotEnough& missing) {
        return missing.what == "the inputs" || missing.what.find("model folder") != std::string::npos;
    } catch (const Error&) {  // shapes that do not fit the formula
    }
    return false;
}

/// The options of `locus check` that are missing; inputs are read with a model alone.
std::string what_to_pass(const Evidence& evidence, bool asks_input) {
    const std::string input = asks_input ? "--input FILE (tokens and masks)" : "";
    if (evidence.model) return input;
    return "--model DIR (configuration and weights)" + (input.empty() ? "" : " and " + input);
}

/// True if the candidate reports all stages of the reference that stand before this one.
bool reports_reference_before(const Evidence& evidence, const std::string& stage) {
    const std::vector<std::string> names = evidence.reference.names();
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return !stage_comes_before(name, stage) || evidence.candidate.has(name);
    });
}

}  // namespace

std::string would_learn(const Evidence& evidence, const StageVerdict& verdict, const Diagnosis& diagnosis,
                        bool says_inputs) {
    const auto& judged = diagnosis.judged;
    const bool asks_input = evidence.segments.empty() && !says_inputs;
    if (diagnosis.named || (evidence.model && !asks_input)) return "";
    if (diagnosis.follows) return "";
    const std::string what = "with " + what_to_pass(evidence, asks_input) + " ";
    // A mistake in a stage before, which nobody reports, is found by whole passes alone.
    if ((verdict.worst >= 0 || verdict.reason.starts_with("shape")) &&
        !reports_reference_before(evidence, verdict.name))
        return what + "every mistake of the catalogue can be made in a whole pass and held against what is reported";
    std::size_t wait = 0;
    for (const Mistake& mistake : catalogue()) {
        const auto is_this = [&](const Explanation& each) { return each.mistake == mistake.number; };
        if (std::any_of(judged.begin(), judged.end(), is_this)) continue;
        if (evidence.model && std::find(mistake.families.begin(), mistake.families.end(), evidence.model->family) ==
                                  mistake.families.end())
            continue;
        wait += std::any_of(mistake.variants.begin(), mistake.variants.end(), [&](const Variant& variant) {
            return lacks_input_or_model(evidence, verdict.name, variant);
        });
    }
    if (wait == 0) return "";
    const std::string more = std::to_string(wait) + (wait == 1 ? " more mistake" : " more mistakes");
    return what + more + " of the catalogue can be judged at " + verdict.name;
}

}  // namespace locus::conformance
