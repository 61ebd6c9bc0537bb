#include "core/conformance/diagnosis/saved.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/layout.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

const StageVerdict* verdict_on(const Comparison& comparison, const std::string& stage) {
    const auto found = std::find_if(comparison.stages.begin(), comparison.stages.end(),
                                    [&](const StageVerdict& each) { return each.name == stage; });
    return found == comparison.stages.end() ? nullptr : &*found;
}

/// Stages that the candidate reports and that are made of this one, directly or through some that it does not report.
std::set<std::string> reported_after(const Comparison& comparison, const std::string& stage, const MadeOf& made_of) {
    std::set<std::string> reported, looked = {stage};
    std::vector<std::string> open = {stage};
    while (!open.empty()) {
        const std::string of = std::move(open.back());
        open.pop_back();
        for (const auto& [user, from] : made_of) {
            if (std::find(from.begin(), from.end(), of) == from.end() || !looked.insert(user).second) continue;
            if (verdict_on(comparison, user))
                reported.insert(user);
            else
                open.push_back(user);
        }
    }
    return reported;
}

/// What the right formula leaves of a stage, as a part of its largest value, and whether rounding explains that;
/// nothing where it cannot be computed.
std::optional<Explanation> by_the_right_formula(Evidence evidence, const Comparison& comparison,
                                                const StageVerdict& verdict) {
    static const Variant as_it_should_be;
    evidence.shared = std::make_shared<SharedWork>();  // files may be larger than the memory
    const std::optional<Hypothesis> own = Judge(evidence, comparison, verdict).judge(0, as_it_should_be);
    return own ? std::optional(own->explanation) : std::nullopt;
}

bool is_far(const Explanation& own) { return own.residual > kBeyondRounding * own.allowed; }

/// What stages after a wrong one say of the numbers that stand under its name.
struct Users {
    bool follow_saved = false;  // one follows from those and not from the right numbers
    std::string proof;          // the one that follows from the right numbers and is furthest from what those give
    double off = 0;             // how far; 0 where it cannot be computed from those
};

Users users_of(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
               const Tensor<double>& right, const MadeOf& made_of) {
    Users found;
    if (verdict.worst < 0) return found;  // of another shape or dtype: nothing can be computed from it
    Evidence repaired = evidence;
    repaired.candidate = with_values(evidence.candidate, verdict.name, right);
    for (const std::string& user : reported_after(comparison, verdict.name, made_of)) {
        const StageVerdict& after = *verdict_on(comparison, user);
        const std::optional<Explanation> of_saved = by_the_right_formula(evidence, comparison, after);
        const std::optional<Explanation> of_right = by_the_right_formula(repaired, comparison, after);
        if (!of_right) continue;
        if (!of_saved) {  // rows of a table that are not there
            if (!is_far(*of_right) && found.proof.empty()) found.proof = user;
            continue;
        }
        if (!is_far(*of_saved) && is_far(*of_right)) found.follow_saved = true;
        if (is_far(*of_saved) && !is_far(*of_right) && of_saved->residual > found.off) {
            found.proof = user;
            found.off = of_saved->residual;
        }
        if (found.follow_saved) break;
    }
    return found;
}

}  // namespace

std::optional<std::string> saved_otherwise(const Evidence& evidence, const Comparison& comparison,
                                           const StageVerdict& verdict, const Tensor<double>& right,
                                           const MadeOf& made_of) {
    const Users users = users_of(evidence, comparison, verdict, right, made_of);
    if (users.follow_saved || users.proof.empty()) return std::nullopt;
    return "the port computes it rightly and saves other numbers under its name: " + users.proof +
           ", which is made of it, follows from the right numbers, and " +
           (users.off > 0 ? "would be off by " + format_number(users.off) + " of its largest value with these"
                          : std::string("cannot be computed from these"));
}

bool goes_on_with_saved(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
                        const Tensor<double>& right, const MadeOf& made_of) {
    return users_of(evidence, comparison, verdict, right, made_of).follow_saved;
}

TraceView with_values(const TraceView& trace, const std::string& stage, const Tensor<double>& values) {
    Stage other = *trace.at(stage);
    other.values = values;
    std::vector<StageHeading> headings;
    for (const std::string& name : trace.names())
        headings.push_back({name, name == stage ? values.shape() : *trace.shape_of(name)});
    return {headings, [trace, headings, other](std::size_t n) {
                return headings[n].name == other.name ? other : *trace.at(headings[n].name);
            }};
}

namespace {

/// 1 where a score is hidden, in the order of the values of probs [B,H,Tq,Tk]: by the mask of the input, and without
/// one where the reference has a probability of 0.
std::vector<char> hidden_pairs(const Evidence& evidence, const std::string& scope, const Tensor<double>& probs) {
    std::vector<char> hidden(static_cast<std::size_t>(probs.size()));
    for (Index n = 0; n < probs.size(); ++n) hidden[static_cast<std::size_t>(n)] = probs[n] == 0;
    if (probs.rank() != 4) return hidden;
    const Replay here(evidence, scope);
    const Index heads = probs.extent(1), queries = probs.extent(2), keys = probs.extent(3);
    try {
        for (Index b = 0; b < probs.extent(0); ++b) {
            const Mask visible = here.mask(b);
            if (visible.rows() != queries || visible.cols() != keys) continue;
            for (Index n = 0; n < heads * queries * keys; ++n)
                hidden[static_cast<std::size_t>(b * heads * queries * keys + n)] =
                    visible(n / keys % queries, n % keys) == 0;
        }
    } catch (const NotEnough&) {  // no inputs
    }
    return hidden;
}

}  // namespace

std::optional<std::string> saved_after_mask(const Evidence& evidence, const StageVerdict& verdict,
                                            const Tensor<double>& right) {
    constexpr double kFarBelow = 1000;  // no score is so far from another one
    const auto [scope, stem] = scope_and_stem(verdict.name);
    const std::string probs_name = Replay(evidence, scope).full_name("probs");
    if (!stem.starts_with("scores") || !evidence.reference.has(probs_name)) return std::nullopt;
    const Tensor<double> found = widened(*evidence.candidate.at(verdict.name)),
                         probs = widened(*evidence.reference.at(probs_name));
    if (found.shape() != right.shape() || probs.shape() != right.shape()) return std::nullopt;
    const double allowed = allowed_of(verdict, right);
    const std::vector<char> is_hidden = hidden_pairs(evidence, scope, probs);
    Index hidden = 0;
    double first = 0, lower = 0;  // what the first hidden pair holds, and how far below the right score that is
    bool alike = true;
    for (Index n = 0; n < found.size(); ++n) {
        if (std::abs(found[n] - right[n]) <= allowed) continue;
        if (!(found[n] <= right[n] - kFarBelow) || !is_hidden[static_cast<std::size_t>(n)]) return std::nullopt;
        if (hidden++ == 0) {
            first = found[n];
            lower = right[n] - found[n];
        }
        alike = alike && found[n] == first;
    }
    if (hidden == 0) return std::nullopt;
    return "saved after the mask: " + std::to_string(hidden) + (hidden == 1 ? " hidden pair " : " hidden pairs ") +
           (alike ? (hidden == 1 ? "holds " : "hold ") + format_number(first)
                  : std::string(hidden == 1 ? "is " : "are ") + format_number(lower, 4) +
                        " too low") +  // its own scores are in it
           ", the others are right; save the scores before the mask";
}

namespace {

constexpr Index kFew = 61;  // a prime, so that they do not all stand in one column

/// Values of a stage at equal distances.
Tensor<double> few_values(const Tensor<double>& stage) {
    const Index count = std::min(kFew, stage.size());
    Tensor<double> few({count});
    for (Index n = 0; n < count; ++n) few[n] = stage[n * stage.size() / count];
    return few;
}

/// Those of a stage of the reference, read once: a whole model has a hundred stages of one shape, in a file.
const Tensor<double>& few_of_reference(const Evidence& evidence, const std::string& name) {
    return *evidence.few_of_reference->get(
        name, [&] { return std::optional(few_values(widened(*evidence.reference.at(name)))); });
}

}  // namespace

std::optional<std::string> another_stage(const Evidence& evidence, const StageVerdict& verdict) {
    const Tensor<double> found = widened(*evidence.candidate.at(verdict.name));
    const double allowed = allowed_of(verdict, found);
    if (!says_something(found, allowed)) return std::nullopt;
    for (const std::string& name : evidence.reference.names()) {
        const Shape* shape = evidence.reference.shape_of(name);
        if (name == verdict.name || !shape || *shape != found.shape()) continue;
        if (largest_difference(few_of_reference(evidence, name), few_values(found)) <= allowed &&
            largest_difference(widened(*evidence.reference.at(name)), found) <= allowed)
            return "it holds the numbers of " + name;
    }
    return std::nullopt;
}

}  // namespace locus::conformance
