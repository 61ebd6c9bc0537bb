// The hypotheses of a diagnosis, one by one: each predicts the stage, and what is left of the candidate is measured.
#include "core/conformance/diagnosis/judge.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <thread>
#include <tuple>

namespace locus::conformance {

namespace {

constexpr unsigned kMostWorkers = 4;  // each holds a prediction as large as the stage
constexpr double kFar = 1e-3;         // a hypothesis that leaves this and much more than rounding need not be finished

using Values = Eigen::Map<const Eigen::ArrayXd>;

double worst_difference(const double* a, const double* b, Index count) {
    if (count == 0) return 0;
    const double largest = (Values(a, count) - Values(b, count)).abs().maxCoeff<Eigen::PropagateNaN>();
    if (std::isfinite(largest)) return largest;
    double worst = 0;  // NaN in both is no difference
    for (Index n = 0; n < count; ++n) {
        const double difference = std::abs(a[n] - b[n]);
        if (difference <= worst) continue;
        if (difference <= std::numeric_limits<double>::max())
            worst = difference;
        else if (!std::isnan(a[n]) || !std::isnan(b[n]))
            return std::numeric_limits<double>::infinity();
    }
    return worst;
}

}  // namespace

double largest_size(const Tensor<double>& values) {
    if (values.empty()) return 0;
    return std::max(0.0, Values(values.data(), values.size()).abs().maxCoeff<Eigen::PropagateNumbers>());
}

bool is_unwritten_gradient(const Evidence& evidence, const StageVerdict& verdict) {
    if (!verdict.name.starts_with("grad.") || verdict.worst < 0) return false;
    const auto found = evidence.candidate.find(verdict.name);
    return found && largest_size(widened(*found)) <= verdict.allowed;  // what cancels leaves its last digits
}

bool has_no_number(const Evidence& evidence, const StageVerdict& verdict) {
    const auto found = evidence.candidate.find(verdict.name);
    if (!found) return false;
    const Tensor<double> values = widened(*found);
    return !values.empty() && std::none_of(values.values().begin(), values.values().end(),
                                           [](double value) { return std::isfinite(value); });
}

double largest_difference(const Tensor<double>& a, const Tensor<double>& b) {
    return a.shape() == b.shape() ? worst_difference(a.data(), b.data(), a.size())
                                  : std::numeric_limits<double>::infinity();
}

std::optional<Matrix<double>> part_of(const Tensor<double>& stage, Index at, const Matrix<double>& like) {
    const Shape& shape = stage.shape();
    if (shape.size() == 4) {
        if (at >= shape[0] * shape[1] || like.rows() != shape[2] || like.cols() != shape[3]) return std::nullopt;
        return stage.matrix(at);
    }
    if (shape.size() < 2 || like.rows() != stage.rows().rows() || at + like.cols() > shape.back()) return std::nullopt;
    return stage.rows().middleCols(at, like.cols());
}

namespace {

/// Thrown by a part that a hypothesis has wrong beyond doubt.
struct FarAway {
    double at_least;  // a lower bound of the residual
};

}  // namespace

Judge::Judge(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict,
             std::vector<Formula> assumed)
    : evidence_(evidence),
      comparison_(comparison),
      verdict_(verdict),
      assumed_(std::move(assumed)),
      place_(scope_and_stem(verdict.name)),
      found_(widened(*evidence.candidate.at(verdict.name))),
      largest_(largest_size(found_)),
      says_something_(found_.size() == 0 || std::any_of(found_.values().begin(), found_.values().end(),
                                                        [](double value) { return std::isfinite(value); })) {
    for (const StageVerdict& stage : comparison.stages)
        if (stage.pass) settled_.insert(stage.name);
    try {
        origins_ = Replay(evidence_, scope()).origins(stem(), settled_);
    } catch (const NotEnough&) {  // of what stands in a layer, elsewhere
    }
}

std::optional<Hypothesis> Judge::judge(int mistake, const Variant& variant, const Replay::Apart& apart) const {
    if (!says_something_) return std::nullopt;
    Hypothesis hypothesis;
    hypothesis.variant = &variant;
    hypothesis.explanation.mistake = mistake;
    hypothesis.explanation.way = mistake == 0 ? nullptr : &variant;
    hypothesis.explanation.how = variant.how;
    hypothesis.explanation.allowed = verdict_.tolerance.relative;
    try {
        std::optional<Tensor<double>> predicted = predict(mistake, variant, apart);
        if (!predicted) return std::nullopt;
        hypothesis.predicted = std::move(*predicted);
    } catch (const FarAway& far) {
        hypothesis.explanation.residual = far.at_least;
        hypothesis.explanation.is_bound = true;
        return hypothesis;
    }
    double size = largest_size(hypothesis.predicted);
    if (size == 0) size = 1;  // nothing but zeros, as after an inverted mask
    hypothesis.explanation.residual = largest_difference(found_, hypothesis.predicted) / size;
    hypothesis.explanation.allowed = verdict_.tolerance.relative + verdict_.tolerance.absolute / size;
    if (variant.measured && hypothesis.explanation.fits()) try {
            hypothesis.explanation.how += ": " + variant.measured(Replay(evidence_, scope()));
        } catch (const NotEnough&) {  // the prediction had what the words lack
        }
    // Predictions are compared among those that fit; a hypothesis far away need not be kept.
    if (hypothesis.explanation.residual > 3 * hypothesis.explanation.allowed) hypothesis.predicted = {};
    return hypothesis;
}

std::optional<Tensor<double>> Judge::predict(int mistake, const Variant& variant, const Replay::Apart& apart) const {
    try {
        const auto reaches = [&](const Formula& formula) { return origins_.contains(formula.stem); };
        if (mistake != 0 && std::none_of(variant.formulas.begin(), variant.formulas.end(), reaches))
            return std::nullopt;
        Replay replay = this->replay(variant.formulas);
        replay.take(apart);
        replay.watch(stem(), [&](Index at, const Matrix<double>& part) { stop_if_far(at, part); });
        return replay.computed(stem());
    } catch (const NotEnough&) {
        return std::nullopt;
    } catch (const Error&) {  // shapes that do not fit the formula
        return std::nullopt;
    }
}

/// Ends a hypothesis as soon as one part rules it out.  With f the largest value found and p the largest predicted,
/// difference / p is at least difference / 2f where p <= 2f, and else at least 1/2, because |p - f| is left.
void Judge::stop_if_far(Index at, const Matrix<double>& part) const {
    const std::optional<Matrix<double>> found = part_of(found_, at, part);
    if (!found) return;
    const double difference = worst_difference(found->data(), part.data(), part.size());
    const double at_least = std::min(0.5, difference / (2 * largest_));
    const double rounding = std::max(verdict_.tolerance.relative, verdict_.allowed / largest_);
    if (largest_ > 0 && at_least >= kFar && at_least >= kBeyondBest * rounding) throw FarAway{at_least};
}

namespace {

/// "segment.2.layer.0." -> "segment.1.layer.0.".
std::string in_segment(const std::string& scope, std::size_t segment) {
    return "segment." + std::to_string(segment) + scope.substr(scope.find('.', 8));
}

}  // namespace

bool Judge::contradicted(const Mistake& mistake, const Variant& variant) const try {
    const Replay replay(evidence_, scope(), variant.formulas);
    const auto replaced = [&](const std::string& stem) {
        return std::any_of(variant.formulas.begin(), variant.formulas.end(),
                           [&](const Formula& formula) { return formula.stem == stem; });
    };
    // A mistake may sit in one stage or in another; a variant speaks of those that it replaces.
    const std::vector<std::string>& stems = variant.stems.empty() ? mistake.stems : variant.stems;
    const bool any = std::any_of(stems.begin(), stems.end(), replaced);
    for (const std::string& stem : stems) {
        if (stem == this->stem() || (any && !replaced(stem))) continue;
        bool is_right = settled_.contains(replay.full_name(stem));
        if (stem == "memory" && replay.segment() > 0) {  // what this segment reads is what the one before reports
            const Replay before = replay.elsewhere(in_segment(scope(), replay.segment() - 1));
            is_right = is_right || settled_.contains(before.full_name(stem));
        }
        if (is_right && replay.touches(stem)) return true;
    }
    return false;
} catch (const NotEnough&) {  // it is not known where the stage stands
    return false;
}

bool Judge::changes_in(const std::string& scope, const std::string& stem, const Variant& variant, double times) const
    try {
    const Replay wrong(evidence_, scope, variant.formulas, assumed_);
    if (!wrong.touches(stem)) return false;
    const Tensor<double> right = Replay(evidence_, scope, {}, assumed_).computed(stem);
    const double allowed = verdict_.tolerance.absolute + verdict_.tolerance.relative * largest_size(right);
    return !(largest_difference(wrong.computed(stem), right) <= times * allowed);
} catch (const NotEnough&) {  // the way says nothing of this stage
    return false;
} catch (const Error&) {  // shapes that do not fit the formula
    return false;
}

bool Judge::changes_right_layers(const Variant& variant) const {
    if (scope().find("layer.") != std::string::npos) return false;
    return std::any_of(settled_.begin(), settled_.end(), [&](const std::string& name) {
        const auto [scope, stem] = scope_and_stem(name);
        if (scope.find("layer.") == std::string::npos) return false;
        const bool speaks_of_it = std::any_of(variant.formulas.begin(), variant.formulas.end(),
                                              [&, &stem = stem](const Formula& each) { return each.stem == stem; });
        return speaks_of_it && changes_in(scope, stem, variant, 1);
    });
}

bool Judge::changes_right_neighbours(const Variant& variant) const {
    if (scope().find("layer.") == std::string::npos) return false;
    const Replay here(evidence_, this->scope());
    // Of a stage that is wrong itself, maybe by two mistakes, a neighbour has what the candidate made of it.
    const auto has_another_wrong_one = [&](const std::unordered_set<std::string>& origins) {
        return std::any_of(variant.formulas.begin(), variant.formulas.end(), [&](const Formula& formula) {
            const auto name = here.name_here(formula.stem);
            return name && origins.contains(formula.stem) && evidence_.candidate.has(*name) &&
                   !settled_.contains(*name);
        });
    };
    return std::any_of(settled_.begin(), settled_.end(), [&](const std::string& name) {
        const auto [scope, stem] = scope_and_stem(name);
        if (scope != this->scope()) return false;
        const std::unordered_set<std::string> origins = here.origins(stem, {});
        if (origins.contains(this->stem()) || has_another_wrong_one(origins)) return false;
        return changes_in(scope, stem, variant, kBeyondRounding);
    });
}

std::optional<Tensor<double>> Judge::computed(const std::vector<Formula>& formulas) const try {
    return replay(formulas).computed(stem());
} catch (const NotEnough&) {
    return std::nullopt;
} catch (const Error&) {  // shapes that do not fit the formula
    return std::nullopt;
}

bool Judge::changes(const Variant& variant) const {
    const auto right = computed({}), wrong = computed(variant.formulas);
    if (!right || !wrong) return false;
    const double allowed = verdict_.tolerance.absolute + verdict_.tolerance.relative * largest_size(*right);
    return !(largest_difference(*wrong, *right) <= allowed);
}

bool Judge::speaks_of_given(const Variant& variant) const {
    if (evidence_.given.empty()) return false;
    const Replay here(evidence_, scope());
    return std::any_of(variant.formulas.begin(), variant.formulas.end(), [&](const Formula& formula) {
        const auto name = here.name_here(formula.stem);
        return name && evidence_.given.contains(*name);
    });
}

int Judge::explained_around(const Variant& variant) const {
    const std::string around = scope() + (stem().starts_with('/') ? "layer.0." : "");
    const bool asks_the_decoder = stem().starts_with("/emd.query") || scope().starts_with("emd.");
    return explained_where(variant, [&](const std::string& where, const std::string& what) {
        const bool in_the_head = what.starts_with("/mlm.transform") || what.starts_with("/mlm.logits");
        return asks_the_decoder ? where.starts_with("emd.") || in_the_head : where == around;
    });
}

int Judge::explained_in_query_stream(const Variant& variant) const {
    const std::string stream = scope() + "g.";
    return explained_where(variant, [&](const std::string& where, const std::string&) { return where == stream; });
}

int Judge::explained_where(const Variant& variant,
                           const std::function<bool(const std::string& where, const std::string& what)>& asked) const {
    std::map<std::string, Replay> replays;  // by scope; one remembers what it has computed
    int explained = 0;
    for (const StageVerdict& verdict : comparison_.stages) {
        const auto [where, what] = scope_and_stem(verdict.name);
        if (verdict.worst < 0 || !asked(where, what)) continue;
        const Replay& replay = replays.try_emplace(where, evidence_, where, variant.formulas).first->second;
        try {
            if (verdict.pass && !replay.touches(what)) {
                ++explained;
                continue;
            }
            const double allowed = std::max(verdict.allowed, 0.0);
            explained +=
                largest_difference(widened(*evidence_.candidate.at(verdict.name)), replay.computed(what)) <= allowed;
        } catch (const NotEnough&) {
            explained += verdict.pass;  // a formula of other scopes, as the mask decoder's, says nothing here
        } catch (const Error&) {
        }
    }
    return explained;
}

double Judge::rounding_beside(const Explanation& best) const {
    const Replay here(evidence_, scope());
    const std::vector<std::string> inputs = here.inputs_of(stem());
    if (inputs.empty()) return best.allowed;
    Index longest = 1;  // of the sums of this step: over columns, or over rows as in a gradient of weights
    for (const std::string& input : inputs) {
        const auto name = here.name_here(input);
        const Shape* shape = name ? evidence_.candidate.shape_of(*name) : nullptr;
        if (!shape) return best.allowed;
        for (std::size_t axis = shape->size() - std::min<std::size_t>(shape->size(), 2); axis < shape->size(); ++axis)
            longest = std::max(longest, (*shape)[axis]);
    }
    const std::string dtype = this->dtype();
    // Short floats are rounded where they are stored: every term of a sum once, which grows as the sum itself does.
    const bool is_short = dtype == "F16" || dtype == "BF16";
    const double growth = is_short ? 0 : std::sqrt(static_cast<double>(longest));
    const double step = 2 * dtype_epsilon(dtype) * (4 + growth);
    return best.residual <= step ? std::min(step, best.allowed) : best.allowed;
}

std::string Judge::dtype() const {
    const auto stored = evidence_.stored.find(verdict_.name);
    return stored != evidence_.stored.end() ? stored->second : evidence_.candidate.at(verdict_.name)->dtype();
}

bool Judge::is_far(const Explanation& other, const Explanation& best) const {
    if (other.residual < kBeyondBest * best.residual) return false;
    return other.residual >= kBeyondRounding * rounding_beside(best) ||
           (!other.fits() && other.residual >= kBeyondBest * dtype_epsilon(dtype()));
}

std::vector<OpenHypothesis> Judge::open_hypotheses() const {
    static const Variant as_it_should_be;
    std::vector<OpenHypothesis> open = {{0, &as_it_should_be}};
    const std::optional<Family> family = known_family(evidence_);
    for (const Mistake& mistake : catalogue()) {
        if (family && std::find(mistake.families.begin(), mistake.families.end(), *family) == mistake.families.end())
            continue;
        for (const Variant& variant : mistake.variants) {
            if (!contradicted(mistake, variant)) open.push_back({mistake.number, &variant});
        }
    }
    return open;
}

std::vector<Hypothesis> Judge::judge_all(const std::vector<OpenHypothesis>& open,
                                         const std::function<Replay::Apart(std::size_t n)>& apart) const {
    std::vector<std::optional<Hypothesis>> judged(open.size());
    share_out(open.size(), evidence_.stop, [&](std::size_t n) {
        judged[n] = judge(open[n].mistake, *open[n].variant, apart ? apart(n) : Replay::Apart{});
    });
    std::vector<Hypothesis> all;
    for (std::optional<Hypothesis>& one : judged)
        if (one) all.push_back(std::move(*one));
    return all;
}

void share_out(std::size_t count, const CancelToken& stop, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> cancelled = false;
    const auto take = [&](bool asks) {  // one thread alone asks whether the result is still wanted
        for (std::size_t n = next++; n < count && !cancelled; n = next++) {
            if (asks && stop && stop()) cancelled = true;
            if (!cancelled) work(n);
        }
    };
    std::vector<std::future<void>> pool;
    try {
        for (unsigned n = 1; n < std::min(kMostWorkers, std::thread::hardware_concurrency()); ++n)
            pool.push_back(std::async(std::launch::async, take, false));
    } catch (const std::system_error&) {  // the system gives no more threads
    }
    take(true);
    for (std::future<void>& worker : pool) worker.get();
    if (cancelled) throw Cancelled();
}

void settle_ties(std::vector<Hypothesis>& all, const Judge& judge) {
    const auto fits = [](const Hypothesis& each) { return each.explanation.fits(); };
    const auto end = std::find_if_not(all.begin(), all.end(), fits);
    if (end - all.begin() < 2) return;
    std::vector<int> explained;
    for (auto each = all.begin(); each != end; ++each) explained.push_back(judge.explained_around(*each->variant));
    const int most = *std::max_element(explained.begin(), explained.end());
    std::vector<Hypothesis> kept;
    for (std::size_t n = 0; n < all.size(); ++n)
        if (n >= explained.size() || explained[n] == most) kept.push_back(std::move(all[n]));
    all = std::move(kept);
    const auto order = [&](const Hypothesis& each) {
        const int number = each.explanation.mistake;
        return std::tuple(number != 0 && mistake_of(number).is_rare, judge.speaks_of_given(*each.variant), number);
    };
    std::stable_sort(all.begin(), std::find_if_not(all.begin(), all.end(), fits),
                     [&](const Hypothesis& a, const Hypothesis& b) { return order(a) < order(b); });
}

void prefer_first_way(std::vector<Hypothesis>& all, const Judge& judge) {
    if (all.empty() || all.front().explanation.mistake == 0 || !all.front().explanation.fits()) return;
    const Hypothesis& best = all.front();
    const double left = best.explanation.residual * largest_size(best.predicted);
    std::vector<std::vector<Hypothesis>::iterator> same;
    for (auto each = all.begin(); each != all.end(); ++each)
        if (each->explanation.mistake == best.explanation.mistake && each->explanation.fits() &&
            (each == all.begin() || largest_difference(each->predicted, best.predicted) <= left))
            same.push_back(each);
    if (same.size() == 1) return;
    // Of ways that are one here, the one that explains most around it, in XLNet's other stream too.
    std::vector<std::tuple<bool, int, const Variant*, std::vector<Hypothesis>::iterator>> ways;
    for (const auto& each : same) {
        const Variant& way = *each->variant;
        ways.emplace_back(judge.speaks_of_given(way),
                          -judge.explained_around(way) - judge.explained_in_query_stream(way), &way, each);
    }
    std::sort(ways.begin(), ways.end());
    for (std::size_t n = 0; n < same.size(); ++n) same[n] = std::get<3>(ways[n]);
    const auto apart = std::find_if(same.begin(), same.end(),
                                    [&](const auto& each) { return !judge.changes_right_layers(*each->variant); });
    const auto first = apart == same.end() ? same.front() : *apart;
    std::rotate(all.begin(), first, first + 1);
}

}  // namespace locus::conformance
