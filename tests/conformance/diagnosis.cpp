#include "tests/conformance/diagnosis.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <set>
#include <thread>

namespace locus::conformance {

namespace {

constexpr double kBeyondBest = 100;     // how many times the best residual every other hypothesis must leave,
constexpr double kBeyondRounding = 10;  // and how many times what rounding allows
constexpr unsigned kMostWorkers = 4;    // each holds a prediction as large as the stage
constexpr double kFar = 1e-3;  // a hypothesis that leaves this and much more than rounding need not be finished

double largest(const Tensor<double>& values) {
    double size = 0;
    for (const double value : values.values()) size = std::max(size, std::abs(value));
    return size;
}

/// max |a - b|; infinity where either is not a number, unless both are: a hypothesis may predict NaN.
double distance(const double* a, const double* b, Index count) {
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

/// The same; infinity for another shape.
double distance(const Tensor<double>& a, const Tensor<double>& b) {
    return a.shape() == b.shape() ? distance(a.data(), b.data(), a.size()) : std::numeric_limits<double>::infinity();
}

/// Thrown by a head that a hypothesis has wrong beyond doubt.
struct FarAway {
    double at_least;  // a lower bound of the residual
};

/// A hypothesis and the numbers it predicts.
struct Hypothesis {
    Explanation explanation;
    const Variant* variant = nullptr;
    Tensor<double> predicted;
};

/// True if the candidate reports a stage that this way of making the mistake makes wrong, and has it right.
bool contradicted(const Mistake& mistake, const Variant& variant, const Replay& replay, const std::string& failing,
                  const Comparison& comparison) try {
    const auto replaced = [&](const std::string& stem) {
        return std::any_of(variant.formulas.begin(), variant.formulas.end(),
                           [&](const Formula& formula) { return formula.stem == stem; });
    };
    // A mistake may sit in one stage or in another; a variant speaks of those that it replaces.
    const bool any = std::any_of(mistake.stems.begin(), mistake.stems.end(), replaced);
    for (const std::string& stem : mistake.stems)
        for (const StageVerdict& verdict : comparison.stages)
            if (stem != failing && verdict.pass && (!any || replaced(stem)) && verdict.name == replay.full_name(stem) &&
                replay.touches(stem))
                return true;
    return false;
} catch (const NotEnough&) {  // nobody knows where the stage stands
    return false;
}

class Judge {
public:
    Judge(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict)
        : evidence_(evidence),
          verdict_(verdict),
          place_(scope_and_stem(verdict.name)),
          found_(widened(evidence.candidate.at(verdict.name))) {
        for (const StageVerdict& stage : comparison.stages)
            if (stage.pass) settled_.insert(stage.name);
        largest_ = largest(found_);
    }

    const std::string& scope() const { return place_.first; }
    const std::string& stem() const { return place_.second; }

    /// The hypothesis that these formulas are the candidate's; nothing if it says nothing about the stage.
    std::optional<Hypothesis> judge(int mistake, const Variant& variant) const {
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
        double size = largest(hypothesis.predicted);
        if (size == 0) size = 1;  // nothing but zeros, as behind an inverted mask
        hypothesis.explanation.residual = distance(found_, hypothesis.predicted) / size;
        hypothesis.explanation.allowed = verdict_.tolerance.relative + verdict_.tolerance.absolute / size;
        // Predictions are compared among those that fit; a hypothesis far away need not be kept.
        if (hypothesis.explanation.residual > 3 * hypothesis.explanation.allowed) hypothesis.predicted = {};
        return hypothesis;
    }

    /// How many stages that the candidate reports around this one are as the variant would have them.
    int explained_around(const Variant& variant, const Comparison& comparison) const {
        std::string around = scope();
        if (stem().starts_with('/')) around += "layer.0.";
        const Replay replay(evidence_, around, variant.formulas);
        int explained = 0;
        for (const StageVerdict& verdict : comparison.stages) {
            const auto [where, what] = scope_and_stem(verdict.name);
            if (where != around || verdict.worst < 0) continue;
            try {
                if (verdict.pass && !replay.touches(what)) {
                    ++explained;
                    continue;
                }
                const double allowed = std::max(verdict.allowed, 0.0);
                explained += distance(widened(evidence_.candidate.at(verdict.name)), replay.computed(what)) <= allowed;
            } catch (const NotEnough&) {
            } catch (const Error&) {
            }
        }
        return explained;
    }

private:
    std::optional<Tensor<double>> predict(int mistake, const Variant& variant) const {
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
    void stop_if_far(Index at, const Matrix<double>& head) const {
        const auto shape = found_.shape();
        if (shape.size() != 4 || at >= shape[0] * shape[1] || head.rows() != shape[2] || head.cols() != shape[3])
            return;
        const double difference = distance(found_.matrix(at).data(), head.data(), head.size());
        const double at_least = std::min(0.5, difference / (2 * largest_));
        const double rounding = std::max(verdict_.tolerance.relative, verdict_.allowed / largest_);
        if (largest_ > 0 && at_least >= kFar && at_least >= kBeyondBest * rounding) throw FarAway{at_least};
    }

    const Evidence& evidence_;
    const StageVerdict& verdict_;
    std::pair<std::string, std::string> place_;
    Tensor<double> found_;
    double largest_ = 0;             // of found_
    std::set<std::string> settled_;  // what the candidate reports and has right
};

/// Hypotheses that fit equally well are told apart by the other stages that the candidate reports: those that explain
/// fewer of them than another are dropped, and the rest stand in the order of the catalogue.
void settle_ties(std::vector<Hypothesis>& all, const Judge& judge, const Comparison& comparison) {
    const auto fits = [](const Hypothesis& each) { return each.explanation.fits(); };
    const auto end = std::find_if_not(all.begin(), all.end(), fits);
    if (end - all.begin() < 2) return;
    std::vector<int> explained;
    for (auto each = all.begin(); each != end; ++each)
        explained.push_back(judge.explained_around(*each->variant, comparison));
    const int most = *std::max_element(explained.begin(), explained.end());
    std::vector<Hypothesis> kept;
    for (std::size_t n = 0; n < all.size(); ++n)
        if (n >= explained.size() || explained[n] == most) kept.push_back(std::move(all[n]));
    all = std::move(kept);
    std::stable_sort(
        all.begin(), std::find_if_not(all.begin(), all.end(), fits),
        [](const Hypothesis& a, const Hypothesis& b) { return a.explanation.mistake < b.explanation.mistake; });
}

/// Every hypothesis that says something about the stage, in the order of the catalogue, the right formula first.
std::vector<Hypothesis> judge_all(const Evidence& evidence, const Judge& judge, const Comparison& comparison) {
    static const Variant as_it_should_be;
    std::vector<std::pair<int, const Variant*>> open = {{0, &as_it_should_be}};
    const std::optional<Family> family = known_family(evidence);
    for (const Mistake& mistake : catalogue()) {
        if (family && std::find(mistake.families.begin(), mistake.families.end(), *family) == mistake.families.end())
            continue;
        for (const Variant& variant : mistake.variants) {
            const Replay replay(evidence, judge.scope(), variant.formulas);
            if (!contradicted(mistake, variant, replay, judge.stem(), comparison))
                open.emplace_back(mistake.number, &variant);
        }
    }
    std::vector<std::optional<Hypothesis>> judged(open.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t n = next++; n < open.size(); n = next++)
            judged[n] = judge.judge(open[n].first, *open[n].second);
    };
    std::vector<std::future<void>> workers;
    for (unsigned n = 1; n < std::min(kMostWorkers, std::thread::hardware_concurrency()); ++n)
        workers.push_back(std::async(std::launch::async, work));
    work();
    for (std::future<void>& worker : workers) worker.get();
    std::vector<Hypothesis> all;
    for (std::optional<Hypothesis>& one : judged)
        if (one) all.push_back(std::move(*one));
    return all;
}

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict) {
    Diagnosis diagnosis;
    diagnosis.pattern = describe_difference(evidence, verdict);
    // Nothing was compared: a mistake may explain another shape, none explains another dtype.
    if (verdict.worst < 0 && !verdict.reason.starts_with("shape")) return diagnosis;
    const Judge judge(evidence, comparison, verdict);
    std::vector<Hypothesis> all = judge_all(evidence, judge, comparison);
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.explanation.residual < b.explanation.residual;
    });
    settle_ties(all, judge, comparison);
    for (const Hypothesis& each : all) diagnosis.judged.push_back(each.explanation);
    if (all.empty()) return diagnosis;

    const Hypothesis& best = all.front();
    const double same = best.explanation.allowed * std::max(largest(best.predicted), 1e-300);
    const Hypothesis* next = nullptr;
    for (std::size_t n = 1; n < all.size() && !next; ++n) {
        if (all[n].explanation.mistake == best.explanation.mistake) continue;
        if (best.explanation.fits() && distance(all[n].predicted, best.predicted) <= same) {
            if (diagnosis.equivalent.empty() || diagnosis.equivalent.back() != all[n].explanation.mistake)
                diagnosis.equivalent.push_back(all[n].explanation.mistake);
        } else {
            next = &all[n];
        }
    }
    if (next) diagnosis.runner_up = next->explanation;
    const bool far = !next || (next->explanation.residual >= kBeyondBest * best.explanation.residual &&
                               next->explanation.residual >= kBeyondRounding * best.explanation.allowed);
    const bool right_too =
        std::find(diagnosis.equivalent.begin(), diagnosis.equivalent.end(), 0) != diagnosis.equivalent.end();
    if (best.explanation.mistake == 0 && best.explanation.fits())
        diagnosis.pattern = verdict.name +
                            " follows from what the candidate reports by the right formula, so the "
                            "mistake lies in a stage that it does not report";
    else if (best.explanation.fits() && far && !right_too)
        diagnosis.named = best.explanation;
    return diagnosis;
}

}  // namespace locus::conformance
