#include "core/conformance/diagnosis/saved.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>

#include "core/conformance/diagnosis/judge.h"
#include "core/conformance/diagnosis/patterns.h"
#include "core/text/text_table.h"

namespace locus::conformance {

namespace {

constexpr std::size_t kMostAxes = 5;  // of a stage whose axes are tried in every order: 120 of them

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

/// "T", "axis 0" where axes have no names.
std::string axis_name(const std::vector<std::string>& axes, std::size_t axis) {
    return axis < axes.size() ? axes[axis] : "axis " + std::to_string(axis);
}

/// "[B,H,T,d]" of axes in this order.
std::string axes_text(const std::vector<std::string>& axes, const std::vector<std::size_t>& order) {
    std::string text;
    for (const std::size_t axis : order) text += (text.empty() ? "[" : ",") + axis_name(axes, axis);
    return text + "]";
}

/// True if `found`, read as a tensor whose axes are those of `right` in this order, holds the right numbers.
bool holds_in_order(const Tensor<double>& right, const Tensor<double>& found, const std::vector<std::size_t>& order,
                    double allowed) {
    const Shape& shape = right.shape();
    std::vector<Index> step(shape.size(), 1), at(shape.size(), 0);
    for (std::size_t axis = shape.size(); axis-- > 1;) step[axis - 1] = step[axis] * shape[axis];
    Index from = 0;
    for (Index n = 0; n < found.size(); ++n) {
        if (!(std::abs(found[n] - right[from]) <= allowed)) return false;
        for (std::size_t place = order.size(); place-- > 0;) {  // the next cell, the last axis of the order first
            const std::size_t axis = order[place];
            from += step[axis];
            if (++at[axis] < shape[axis]) break;
            from -= shape[axis] * step[axis];
            at[axis] = 0;
        }
    }
    return true;
}

/// At least two values that are told apart: a constant is found everywhere.
bool says_something(const Tensor<double>& values, double allowed) {
    const auto [least, most] = std::minmax_element(values.values().begin(), values.values().end());
    return values.size() > 1 && *most - *least > 2 * allowed;
}

double allowed_of(const StageVerdict& verdict, const Tensor<double>& right) {
    return verdict.worst >= 0 ? verdict.allowed
                              : verdict.tolerance.absolute + verdict.tolerance.relative * largest_size(right);
}

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

TraceView with_values(const TraceView& candidate, const std::string& stage, const Tensor<double>& values) {
    Stage other = *candidate.at(stage);
    other.values = values;
    std::vector<StageHeading> headings;
    for (const std::string& name : candidate.names())
        headings.push_back({name, name == stage ? values.shape() : *candidate.shape_of(name)});
    return {headings, [candidate, headings, other](std::size_t n) {
                return headings[n].name == other.name ? other : *candidate.at(headings[n].name);
            }};
}

std::optional<std::string> other_axes(const Evidence& evidence, const StageVerdict& verdict) {
    const auto stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(*stage), found = widened(*evidence.candidate.at(verdict.name));
    const double allowed = allowed_of(verdict, right);
    if (right.size() != found.size() || right.shape().size() > kMostAxes || !says_something(right, allowed))
        return std::nullopt;
    std::vector<std::size_t> order(right.shape().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::string expected = axes_text(stage->axes, order);
    do {
        if (!holds_in_order(right, found, order, allowed)) continue;
        if (!std::is_sorted(order.begin(), order.end()))
            return "the right numbers with their axes in the order " + axes_text(stage->axes, order) +
                   ": transpose them to " + expected +
                   (right.shape() == found.shape() ? "" : ", and save " + to_string(right.shape()));
        if (right.shape() == found.shape()) return std::nullopt;
        return "the right numbers in the right order, but of shape " + to_string(found.shape()) + ": save them as " +
               expected + " = " + to_string(right.shape());
    } while (std::next_permutation(order.begin(), order.end()));
    return std::nullopt;
}

namespace {

/// "[2k,d]" of the axes from one on.
std::string last_axes(const std::vector<std::string>& axes, std::size_t from, std::size_t rank) {
    std::vector<std::size_t> order(rank - from);
    std::iota(order.begin(), order.end(), from);
    return axes_text(axes, order);
}

/// "each [d] 2 times": the right numbers, but all of them, blocks of the last axes or single ones several times, one
/// after another, as a table that is repeated for every sample or cos and sin that hold each half twice.
std::optional<std::string> repeated(const Stage& stage, const Tensor<double>& right, const Tensor<double>& found,
                                    double allowed) {
    if (found.size() <= right.size() || found.size() % right.size() != 0) return std::nullopt;
    const Index times = found.size() / right.size();
    const std::size_t rank = right.shape().size();
    Index block = right.size();
    for (std::size_t from = 0; from <= rank; block /= from < rank ? right.shape()[from] : 1, ++from) {
        if (from > 0 && from < rank && block == right.size()) continue;  // the same as all
        const auto is_right = [&](Index n) {
            return std::abs(found[n] - right[n / (block * times) * block + n % block]) <= allowed;
        };
        Index n = 0;
        while (n < found.size() && is_right(n)) ++n;
        if (n < found.size()) continue;
        return (from == 0      ? "all of them "
                : from == rank ? "each of them "
                               : "each " + last_axes(stage.axes, from, rank) + " ") +
               std::to_string(times) + " times, one after another";
    }
    return std::nullopt;
}

/// True if the values of `part` are those of `whole` from these numbers of its axes on.
bool holds_from(const Tensor<double>& whole, const Tensor<double>& part, const std::vector<Index>& from,
                double allowed) {
    for (Index n = 0; n < part.size(); ++n) {
        Index rest = n, at = 0, step = 1;
        for (std::size_t axis = from.size(); axis-- > 0;) {
            at += (rest % part.shape()[axis] + from[axis]) * step;
            rest /= part.shape()[axis];
            step *= whole.shape()[axis];
        }
        if (!(std::abs(part[n] - whole[at]) <= allowed)) return false;
    }
    return true;
}

/// "0 to 6 of 512 along T": where the smaller of two tensors of one rank stands in the other, as rows of a table that
/// is longer than the text; nothing where one is larger along one axis and smaller along another, or other numbers
/// stand there.  It is looked for everywhere along one axis, and at the beginning where several differ.
std::optional<std::string> part_of(const Stage& stage, const Tensor<double>& whole, const Tensor<double>& part,
                                   double allowed) {
    const std::size_t rank = part.shape().size();
    std::vector<std::size_t> longer;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        if (whole.shape()[axis] < part.shape()[axis]) return std::nullopt;
        if (whole.shape()[axis] > part.shape()[axis]) longer.push_back(axis);
    }
    if (longer.empty()) return std::nullopt;
    std::vector<Index> from(rank, 0);
    Index& first = from[longer.front()];
    const Index last = longer.size() > 1 ? 0 : whole.shape()[longer.front()] - part.shape()[longer.front()];
    while (first <= last && !holds_from(whole, part, from, allowed)) ++first;
    if (first > last) return std::nullopt;
    std::string text;
    for (const std::size_t axis : longer) {
        const Index begin = from[axis], end = begin + part.shape()[axis] - 1;
        text += (text.empty() ? "" : " and ") + std::to_string(begin) +
                (begin < end ? " to " + std::to_string(end) : "") + " of " + std::to_string(whole.shape()[axis]) +
                " along " + axis_name(stage.axes, axis);
    }
    return text;
}

/// Without axes of one number at its front, of which it has more than the other.
Tensor<double> of_rank(const Tensor<double>& values, std::size_t rank) {
    Shape shape = values.shape();
    while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
    return Tensor<double>(shape, values.values());
}

}  // namespace

std::optional<std::string> other_extents(const Evidence& evidence, const StageVerdict& verdict) {
    const auto stage = evidence.reference.at(verdict.name);
    const Tensor<double> right = widened(*stage);
    const Tensor<double> found = of_rank(widened(*evidence.candidate.at(verdict.name)), right.shape().size());
    const double allowed = allowed_of(verdict, right);
    if (right.shape() == found.shape() || !says_something(right, allowed) || !says_something(found, allowed))
        return std::nullopt;
    if (!memory_of_zeros(evidence, verdict.name).empty()) return std::nullopt;  // rows that the port goes on with
    const std::string save = last_axes(stage->axes, 0, right.shape().size()) + " = " + to_string(right.shape());
    if (const auto times = repeated(*stage, right, found, allowed))
        return "the right numbers, but " + *times + ": save them once, as " + save;
    if (right.shape().size() != found.shape().size()) return std::nullopt;
    if (const auto where = part_of(*stage, found, right, allowed))
        return "the right numbers are " + *where + ": save those, " + save;
    if (const auto where = part_of(*stage, right, found, allowed))
        return "the right numbers, but only " + *where + ": save all, " + save;
    return std::nullopt;
}

std::optional<std::string> other_layout(const Evidence& evidence, const StageVerdict& verdict) {
    const auto axes = other_axes(evidence, verdict);
    return axes ? axes : other_extents(evidence, verdict);
}

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
    Index hidden = 0;
    double first = 0, lower = 0;  // what the first hidden pair holds, and how far below the right score that is
    bool alike = true;
    for (Index n = 0; n < found.size(); ++n) {
        if (std::abs(found[n] - right[n]) <= allowed) continue;
        if (!(found[n] <= right[n] - kFarBelow) || probs[n] != 0) return std::nullopt;
        if (hidden++ == 0) {
            first = found[n];
            lower = right[n] - found[n];
        }
        alike = alike && found[n] == first;
    }
    if (hidden == 0) return std::nullopt;
    char rounded[32];
    std::snprintf(rounded, sizeof rounded, "%.4g", lower);  // the port's own scores are in it
    return "saved after the mask: " + std::to_string(hidden) + (hidden == 1 ? " hidden pair " : " hidden pairs ") +
           (alike ? (hidden == 1 ? "holds " : "hold ") + format_number(first)
                  : std::string(hidden == 1 ? "is " : "are ") + rounded + " too low") +
           ", the others are right; save the scores before the mask";
}

std::optional<std::string> another_stage(const Evidence& evidence, const StageVerdict& verdict) {
    const Tensor<double> found = widened(*evidence.candidate.at(verdict.name));
    const double allowed = allowed_of(verdict, found);
    if (!says_something(found, allowed)) return std::nullopt;
    for (const std::string& name : evidence.reference.names()) {
        const Shape* shape = evidence.reference.shape_of(name);
        if (name == verdict.name || !shape || *shape != found.shape()) continue;
        if (largest_difference(widened(*evidence.reference.at(name)), found) <= allowed)
            return "it holds the numbers of " + name;
    }
    return std::nullopt;
}

}  // namespace locus::conformance
