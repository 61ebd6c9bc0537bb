#include "core/conformance/diagnosis/whole_pass.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>

#include "core/conformance/diagnosis/backward_pass.h"
#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/mistaken_pass.h"
#include "core/stages.h"

namespace locus::conformance {

namespace {

constexpr Index kMostTokens = 1024;   // of a right pass with every stage
constexpr double kShareOfOne = 0.05;  // of all work, that the right pass may take
constexpr double kBackward = 3;       // a pass there and back is as much work as so many there

/// Multiplications of a pass by weights, for one token.  The table of words is multiplied by a head that gives words.
double multiplications(const WeightSource& weights, bool with_words) {
    double elements = 0;
    for (const std::string& name : weights.names())
        if (const auto shape = weights.shape(name); shape && shape->size() > 1)
            if (with_words || name.find("word_emb") == std::string::npos)
                elements += static_cast<double>(element_count(*shape));
    return elements;
}

/// Every stage of the reference that the model computes is as this pass has it.  Of float32, also where the reference
/// is wider: other people's code rounds some stages to it whatever it runs in.
bool gives_the_reference(const Trace& right, const TraceView& reference) {
    std::map<std::string, std::string> stored;
    for (const std::string& name : right.names())
        if (reference.has(name)) stored[name] = "F32";
    return !stored.empty() && compare(reference, right, std::nullopt, stored).pass();
}

/// Someone reports gradients: then the pass goes back, too.
bool goes_back(const Evidence& evidence) {
    for (const TraceView& trace : {evidence.reference, evidence.candidate})
        for (const std::string& name : trace.names())
            if (name.starts_with("grad.")) return true;
    return false;
}

/// What the reference may follow, the likeliest first.
std::vector<Dialect> dialects_to_try(const Evidence& evidence) {
    std::vector<Dialect> dialects = {evidence.dialect};
    for (const Dialect other : {Dialect::reference, Dialect::official, Dialect::hf})
        if (other != evidence.dialect) dialects.push_back(other);
    return dialects;
}

/// The right pass in the dialect that the reference follows; nothing if the inputs do not give it.
std::optional<RightPass> right_pass(const Evidence& evidence) {
    for (const Dialect dialect : dialects_to_try(evidence)) try {
            RightPass right = RightPass::of(evidence.model, evidence.segments, dialect, evidence.stop);
            const auto is_reported = [&](const std::string& name) {
                return evidence.reference.has(name) || evidence.candidate.has(name);
            };
            if (goes_back(evidence)) add_backward_pass(right, is_reported, evidence.stop);
            if (gives_the_reference(right.trace, evidence.reference)) return right;
        } catch (const Error&) {  // inputs that do not fit the model, or nothing to compare
        }
    return std::nullopt;
}

Index tokens_of(const std::vector<ModelInput>& segments) {
    Index tokens = 0;
    for (const ModelInput& segment : segments) tokens += segment.tokens.size();
    return tokens;
}

/// So many tokens may take so much work, of which each takes that of one.
Index most_tokens(double work, double of_one) {
    return static_cast<Index>(std::min<double>(work / of_one, kMostTokens));
}

/// Of a text of which the right pass is computed, to see whether other passes would say anything.
Index most_tokens_of_right_pass(const Evidence& evidence) {
    return most_tokens(kShareOfOne * evidence.most_work, multiplications(*evidence.model->source, true));
}

/// The stages up to the last one of these names.
Trace up_to(const Trace& trace, const std::vector<std::string>& names) {
    std::size_t count = 0, end = 0;
    for (const Stage& stage : trace.stages()) {
        ++count;
        if (std::find(names.begin(), names.end(), stage.name) != names.end()) end = count;
    }
    Trace part;
    for (std::size_t n = 0; n < end; ++n) part.add(trace.stages()[n]);
    return part;
}

/// A stage that the candidate reports and the model computes.
struct Reported {
    std::string name;
    Tolerance tolerance;
    Tensor<double> values;
    double ratio_if_right;  // of what is left over what rounding allows, where a mistake does not change the stage
};

/// What a pass makes of the reported stages.
struct Pass {
    int mistake = 0;
    const Variant* way = nullptr;
    std::vector<std::optional<Tensor<double>>> predicted;    // of each reported stage; nothing where no formula leads
    double ratio = std::numeric_limits<double>::infinity();  // the largest of what is left over what rounding allows
    Explanation explanation;                                 // at the first wrong stage
};

class Passes {
public:
    Passes(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first, RightPass right)
        : evidence_(evidence), right_(std::move(right)) {
        std::vector<std::string> names;
        for (const StageVerdict& verdict : comparison.stages) {
            if (!right_.trace.find(verdict.name)) continue;
            const bool is_first = verdict.name == first.name;
            if (is_first) first_ = reported_.size();
            names.push_back(verdict.name);
            Tensor<double> values = widened(*evidence.candidate.at(verdict.name));
            const double ratio = ratio_of(values, widened(right_.trace.at(verdict.name)), verdict.tolerance);
            places_[verdict.name] = reported_.size();
            reported_.push_back({verdict.name, verdict.tolerance, std::move(values), ratio});
        }
        right_.trace = up_to(right_.trace, names);
        right_.dump = evidence.candidate;
    }

    std::vector<Pass> of(const std::vector<OpenHypothesis>& open) const {
        const PassSteps steps(right_);
        std::vector<std::optional<Pass>> made(open.size());
        std::atomic<std::size_t> done = 0;
        const CancelToken before_each = [&] {
            if (evidence_.passes_done) evidence_.passes_done(done, open.size());
            return evidence_.stop && evidence_.stop();
        };
        share_out(open.size(), before_each, [&](std::size_t n) {
            made[n] = pass_of(steps, open[n]);
            ++done;
        });
        std::vector<Pass> all;
        for (std::optional<Pass>& one : made)
            if (one) all.push_back(std::move(*one));
        std::stable_sort(all.begin(), all.end(), [](const Pass& a, const Pass& b) { return a.ratio < b.ratio; });
        return all;
    }

    /// True if two passes give the same numbers in every reported stage, as far as rounding tells.
    bool same(const Pass& a, const Pass& b) const {
        if (a.predicted.size() != b.predicted.size()) return false;
        for (std::size_t n = 0; n < reported_.size(); ++n) {
            if (a.predicted[n].has_value() != b.predicted[n].has_value()) return false;
            if (a.predicted[n] && ratio_of(*a.predicted[n], *b.predicted[n], reported_[n].tolerance) > 1) return false;
        }
        return true;
    }
    /// How much of the model runs up to the last reported stage, from 0 to 1.
    double share() const {
        return static_cast<double>(right_.trace.stages().size()) / static_cast<double>(stages_of_model_);
    }
    /// The last reported stage comes after a head that gives words.
    bool gives_words() const {
        return std::any_of(right_.trace.stages().begin(), right_.trace.stages().end(),
                           [](const Stage& stage) { return stage.name.find("logits") != std::string::npos; });
    }

private:
    static double ratio_of(const Tensor<double>& found, const Tensor<double>& predicted, const Tolerance& tolerance) {
        const double difference = largest_difference(found, predicted);
        const double allowed = tolerance.absolute + tolerance.relative * largest_size(predicted);
        if (difference == 0) return 0;
        const double ratio = difference / allowed;  // no number where the prediction holds infinities
        return std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
    }

    /// What is left of a reported stage where this is predicted for it.
    Explanation left_of(const Reported& stage, const Tensor<double>& predicted, const OpenHypothesis& open) const {
        const double size = std::max(largest_size(predicted), 1e-300);
        Explanation left;
        left.mistake = open.mistake;
        left.how = open.variant->how;
        left.way = open.variant;
        left.residual = largest_difference(stage.values, predicted) / size;
        left.allowed = stage.tolerance.relative + stage.tolerance.absolute / size;
        return left;
    }

    std::optional<Pass> pass_of(const PassSteps& steps, const OpenHypothesis& open) const try {
        Pass pass;
        pass.mistake = open.mistake;
        pass.way = open.variant;
        pass.ratio = 0;
        // A stage that is far away in any case ends the pass: there is no need to know how far the others are.
        const auto is_far = [&](const std::string& name, const Tensor<double>* changed) {
            const auto found = places_.find(name);
            if (found == places_.end()) return false;
            const Reported& stage = reported_[found->second];
            const double ratio = changed ? ratio_of(stage.values, *changed, stage.tolerance) : stage.ratio_if_right;
            if (ratio < kBeyondBest) return false;
            pass.ratio = ratio;
            pass.explanation = left_of(stage, changed ? *changed : widened(right_.trace.at(name)), open);
            pass.explanation.is_bound = true;
            return true;
        };
        const MistakenPass made = changed_stages(steps, *open.variant, is_far);
        if (made.changed.empty()) return std::nullopt;
        if (pass.ratio > 0) return pass;
        const auto stage_of = [&](const std::string& name) -> const Stage* {
            if (const Stage* changed = made.trace.find(name)) return changed;
            const bool is_lost = std::find(made.left_out.begin(), made.left_out.end(), name) != made.left_out.end();
            return is_lost ? nullptr : right_.trace.find(name);
        };
        for (const Reported& stage : reported_) {
            const Stage* found = stage_of(stage.name);
            pass.predicted.push_back(found ? std::optional(widened(*found)) : std::nullopt);
            if (found)
                pass.ratio = std::max(pass.ratio, ratio_of(stage.values, *pass.predicted.back(), stage.tolerance));
        }
        const std::optional<Tensor<double>>& first = pass.predicted[first_];
        if (!first) return std::nullopt;
        pass.explanation = left_of(reported_[first_], *first, open);
        if (pass.ratio > 3) pass.predicted.clear();  // far away: never compared with another
        return pass;
    } catch (const NotEnough&) {  // this model or input cannot make it
        return std::nullopt;
    } catch (const Error&) {  // shapes that do not fit the formulas
        return std::nullopt;
    }

    const Evidence& evidence_;
    RightPass right_;
    std::size_t stages_of_model_ = right_.trace.stages().size();
    std::vector<Reported> reported_;
    std::map<std::string, std::size_t> places_;  // of reported stages
    std::size_t first_ = 0;
};

/// Some stage before this one, of these in the order of a pass, is not reported.
bool is_in_the_dark(const std::vector<std::string>& stages, const TraceView& candidate, const std::string& first) {
    for (const std::string& stage : stages) {
        if (stage == first) return false;
        if (!candidate.has(stage)) return true;
    }
    return false;  // the model does not compute it
}

/// True if the candidate reports every stage that the model computes before this one, in whichever dialect: seen by
/// the names alone, as a pass with every stage of a long text takes gigabytes.
bool reports_all_before(const Evidence& evidence, const std::string& first) {
    if (goes_back(evidence)) return false;  // gradients stand in no list of the model's
    const ModelFolder& folder = *evidence.model;
    const auto model = open_model<double>(folder.config_json, folder.location, folder.source);
    const std::vector<Dialect> dialects = dialects_to_try(evidence);
    return std::none_of(dialects.begin(), dialects.end(), [&](Dialect dialect) {
        try {
            return is_in_the_dark(model->stage_names(evidence.segments, dialect), evidence.candidate, first);
        } catch (const Error&) {  // inputs that do not fit the model: there is no pass of them
            return false;
        }
    });
}

std::vector<OpenHypothesis> ways_of(Family family) {
    std::vector<OpenHypothesis> ways;
    for (const Mistake& mistake : catalogue())
        if (std::find(mistake.families.begin(), mistake.families.end(), family) != mistake.families.end())
            for (const Variant& variant : mistake.variants) ways.push_back({mistake.number, &variant});
    return ways;
}

/// The best, or one of the same numbers where the best is a mistake that is said last.
const Pass& usual_one(const Passes& passes, const std::vector<Pass>& all) {
    if (!mistake_of(all.front().mistake).is_rare) return all.front();
    const auto usual = std::find_if(all.begin(), all.end(), [&](const Pass& each) {
        return each.ratio <= 1 && !mistake_of(each.mistake).is_rare && passes.same(each, all.front());
    });
    return usual == all.end() ? all.front() : *usual;
}

/// The one that gives every reported stage, if all that give other numbers are far away.  `all`: best first.
std::optional<WholePass> found_among(const Passes& passes, const std::vector<Pass>& all) {
    if (all.empty() || all.front().ratio > 1) return std::nullopt;
    const Pass& best = usual_one(passes, all);
    WholePass found;
    found.named = best.explanation;
    found.complete = std::all_of(best.predicted.begin(), best.predicted.end(), [](const auto& each) { return !!each; });
    for (const Pass& each : all) {
        if (each.mistake == best.mistake) continue;
        if (each.ratio <= 3 && passes.same(each, best)) {
            if (std::find(found.equivalent.begin(), found.equivalent.end(), each.mistake) == found.equivalent.end())
                found.equivalent.push_back(each.mistake);
            continue;
        }
        if (each.ratio < kBeyondBest * best.ratio || each.ratio < kBeyondRounding) return std::nullopt;
        if (!found.runner_up) found.runner_up = each.explanation;
    }
    return found;
}

}  // namespace

WholePassSearch whole_pass_behind(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first) {
    if (!evidence.model || evidence.segments.empty()) return {};
    if (first.worst < 0 && !first.reason.starts_with("shape")) return {};
    const Index tokens = tokens_of(evidence.segments), most_right = most_tokens_of_right_pass(evidence);
    if (tokens > most_right) {
        std::vector<std::string> stages = evidence.reference.names();
        std::stable_sort(stages.begin(), stages.end(), stage_comes_before);
        return {std::nullopt, is_in_the_dark(stages, evidence.candidate, first.name) ? most_right : 0};
    }
    if (reports_all_before(evidence, first.name)) return {};
    std::optional<RightPass> right = right_pass(evidence);
    // Of a stage that the pass does not compute it cannot say what a mistake would make of it.
    if (!right || !right->trace.find(first.name)) return {};
    if (!is_in_the_dark(right->trace.names(), evidence.candidate, first.name)) return {};

    const std::vector<OpenHypothesis> open = ways_of(evidence.model->family);
    const Passes passes(evidence, comparison, first, std::move(*right));
    const double back = goes_back(evidence) ? kBackward : 1;
    const double of_one = back * multiplications(*evidence.model->source, passes.gives_words()) * passes.share();
    const Index most = most_tokens(evidence.most_work, of_one * static_cast<double>(open.size()));
    if (tokens > most) return {std::nullopt, most};
    return {found_among(passes, passes.of(open)), 0};
}

bool gives_all_reported(const Evidence& evidence, const Comparison& comparison, const StageVerdict& first,
                        const Explanation& named) {
    if (!evidence.model || evidence.segments.empty() ||
        tokens_of(evidence.segments) > most_tokens_of_right_pass(evidence))
        return false;
    if (reports_all_before(evidence, first.name)) return false;
    std::optional<RightPass> right = right_pass(evidence);
    if (!right || !right->trace.find(first.name)) return false;
    if (!is_in_the_dark(right->trace.names(), evidence.candidate, first.name)) return false;
    const Passes passes(evidence, comparison, first, std::move(*right));
    const std::vector<Pass> all = passes.of({{named.mistake, named.way}});
    const auto is_known = [](const auto& predicted) { return predicted.has_value(); };
    return !all.empty() && all.front().ratio <= 1 &&
           std::all_of(all.front().predicted.begin(), all.front().predicted.end(), is_known);
}

namespace {

/// The reference and behind its stages those of the right pass that it lacks and `wanted` names; nothing where there
/// are none, or no right pass.
std::optional<TraceView> reference_with(const Evidence& evidence,
                                        const std::function<bool(const std::string& name)>& wanted) {
    if (!evidence.model || evidence.segments.empty() ||
        tokens_of(evidence.segments) > most_tokens_of_right_pass(evidence))
        return std::nullopt;
    std::optional<RightPass> right = right_pass(evidence);
    if (!right) return std::nullopt;
    const std::vector<std::string> own = evidence.reference.names();
    std::vector<StageHeading> headings;
    for (const std::string& name : own) headings.push_back({name, *evidence.reference.shape_of(name)});
    for (const Stage& stage : right->trace.stages())
        if (!evidence.reference.has(stage.name) && wanted(stage.name)) headings.push_back({stage.name, stage.shape()});
    if (headings.size() == own.size()) return std::nullopt;
    const auto computed = std::make_shared<const Trace>(std::move(right->trace));
    return TraceView(headings, [headings, computed, count = own.size(), reference = evidence.reference](std::size_t n) {
        return n < count ? *reference.at(headings[n].name) : computed->at(headings[n].name);
    });
}

}  // namespace

std::optional<TraceView> filled_reference(const Evidence& evidence) {
    const auto is_lacking = [&](const std::string& name) {
        return evidence.candidate.has(name) && !evidence.reference.has(name);
    };
    const std::vector<std::string> reported = evidence.candidate.names();
    if (std::none_of(reported.begin(), reported.end(), is_lacking)) return std::nullopt;
    return reference_with(evidence, is_lacking);
}

std::optional<TraceView> reference_there_and_back(const Evidence& evidence) {
    if (!goes_back(evidence)) return std::nullopt;
    return reference_with(evidence, [](const std::string&) { return true; });
}

}  // namespace locus::conformance
