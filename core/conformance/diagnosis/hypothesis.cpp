#include "core/conformance/diagnosis/hypothesis.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <thread>

namespace locus::conformance {

namespace {

constexpr unsigned kMostWorkers = 4;  // each holds a prediction as large as the stage
constexpr double kFar = 1e-3;         // a hypothesis that leaves this and much more than rounding need not be finished

double largest_difference(const double* a, const double* b, Index count) {
    double worst = 0;
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

/// Thrown by a head that a hypothesis has wrong beyond doubt.
struct FarAway {
    double at_least;  // a lower bound of the residual
};

}  // namespace

double largest_size(const Tensor<double>& values) {
    double size = 0;
    for (const double value : values.values()) size = std::max(size, std::abs(value));
    return size;
}

double largest_difference(const Tensor<double>& a, const Tensor<double>& b) {
    return a.shape() == b.shape() ? largest_difference(a.data(), b.data(), a.size())
                                  : std::numeric_limits<double>::infinity();
}

Judge::Judge(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict)
    : evidence_(evidence),
      comparison_(comparison),
      verdict_(verdict),
      place_(scope_and_stem(verdict.name)),
      found_(widened(evidence.candidate.at(verdict.name))),
      largest_(largest_size(found_)) {
    for (const StageVerdict& stage : comparison.stages)
        if (stage.pass) settled_.insert(stage.name);
}

std::optional<Hypothesis> Judge::judge(int mistake, const Variant& variant) const {
    Hypothesis hypothesis;
    hypothesis.variant = &variant;
    hypothesis.explanation.mistake = mistake;
    hypothesis.explanation.how = variant.how;
    hypothesis.explanation.allowed = verdict_.tolerance.relative;
    try {
        std::optional<Tensor<double>> predicted = predict(mistake, variant);
        if (!predicted) return std::nullopt;
        hypothesis.predicted = std::move(*predicted);
    } catch (const FarAway& far) {
        hypothesis.explanation.residual = far.at_least;
        hypothesis.explanation.is_bound = true;
        return hypothesis;
    }
    double size = largest_size(hypothesis.predicted);
    if (size == 0) size = 1;  // nothing but zeros, as behind an inverted mask
    hypothesis.explanation.residual = largest_difference(found_, hypothesis.predicted) / size;
    hypothesis.explanation.allowed = verdict_.tolerance.relative + verdict_.tolerance.absolute / size;
    // Predictions are compared among those that fit; a hypothesis far away need not be kept.
    if (hypothesis.explanation.residual > 3 * hypothesis.explanation.allowed) hypothesis.predicted = {};
    return hypothesis;
}

std::optional<Tensor<double>> Judge::predict(int mistake, const Variant& variant) const {
    try {
        Replay replay(evidence_, scope(), variant.formulas);
        replay.watch(stem(), [&](Index at, const Matrix<double>& head) { stop_if_far(at, head); });
        if (mistake != 0 && !replay.touches(stem(), settled_)) return std::nullopt;
        return replay.computed(stem());
    } catch (const NotEnough&) {
        return std::nullopt;
    } catch (const Error&) {  // shapes that do not fit the formula
        return std::nullopt;
    }
}

/// Ends a hypothesis as soon as one head rules it out.  With f the largest value found and p the largest predicted,
/// difference / p is at least difference / 2f where p <= 2f, and else at least 1/2, because |p - f| is left.
void Judge::stop_if_far(Index at, const Matrix<double>& head) const {
    const auto shape = found_.shape();
    if (shape.size() != 4 || at >= shape[0] * shape[1] || head.rows() != shape[2] || head.cols() != shape[3]) return;
    const double difference = largest_difference(found_.matrix(at).data(), head.data(), head.size());
    const double at_least = std::min(0.5, difference / (2 * largest_));
    const double rounding = std::max(verdict_.tolerance.relative, verdict_.allowed / largest_);
    if (largest_ > 0 && at_least >= kFar && at_least >= kBeyondBest * rounding) throw FarAway{at_least};
}

/// True if the candidate reports a stage that this way of making the mistake makes wrong, and has it right.
bool Judge::contradicted(const Mistake& mistake, const Variant& variant) const try {
    const Replay replay(evidence_, scope(), variant.formulas);
    const auto replaced = [&](const std::string& stem) {
        return std::any_of(variant.formulas.begin(), variant.formulas.end(),
                           [&](const Formula& formula) { return formula.stem == stem; });
    };
    // A mistake may sit in one stage or in another; a variant speaks of those that it replaces.
    const bool any = std::any_of(mistake.stems.begin(), mistake.stems.end(), replaced);
    for (const std::string& stem : mistake.stems)
        for (const StageVerdict& verdict : comparison_.stages)
            if (stem != this->stem() && verdict.pass && (!any || replaced(stem)) &&
                verdict.name == replay.full_name(stem) && replay.touches(stem))
                return true;
    return false;
} catch (const NotEnough&) {  // nobody knows where the stage stands
    return false;
}

int Judge::explained_around(const Variant& variant) const {
    std::string around = scope();
    if (stem().starts_with('/')) around += "layer.0.";
    const Replay replay(evidence_, around, variant.formulas);
    int explained = 0;
    for (const StageVerdict& verdict : comparison_.stages) {
        const auto [where, what] = scope_and_stem(verdict.name);
        if (where != around || verdict.worst < 0) continue;
        try {
            if (verdict.pass && !replay.touches(what)) {
                ++explained;
                continue;
            }
            const double allowed = std::max(verdict.allowed, 0.0);
            explained +=
                largest_difference(widened(evidence_.candidate.at(verdict.name)), replay.computed(what)) <= allowed;
        } catch (const NotEnough&) {
        } catch (const Error&) {
        }
    }
    return explained;
}

std::vector<Hypothesis> Judge::judge_all() const {
    static const Variant as_it_should_be;
    std::vector<std::pair<int, const Variant*>> open = {{0, &as_it_should_be}};
    const std::optional<Family> family = known_family(evidence_);
    for (const Mistake& mistake : catalogue()) {
        if (family && std::find(mistake.families.begin(), mistake.families.end(), *family) == mistake.families.end())
            continue;
        for (const Variant& variant : mistake.variants) {
            if (!contradicted(mistake, variant)) open.emplace_back(mistake.number, &variant);
        }
    }
    std::vector<std::optional<Hypothesis>> judged(open.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t n = next++; n < open.size(); n = next++) judged[n] = judge(open[n].first, *open[n].second);
    };
    std::vector<std::future<void>> pool;
    for (unsigned n = 1; n < std::min(kMostWorkers, std::thread::hardware_concurrency()); ++n)
        pool.push_back(std::async(std::launch::async, work));
    work();
    for (std::future<void>& worker : pool) worker.get();
    std::vector<Hypothesis> all;
    for (std::optional<Hypothesis>& one : judged)
        if (one) all.push_back(std::move(*one));
    return all;
}

}  // namespace locus::conformance
