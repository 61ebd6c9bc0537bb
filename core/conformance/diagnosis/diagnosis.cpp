// A diagnosis: every mistake of the catalogue becomes a hypothesis, the stage that each predicts is held against what
// the candidate reports, and a name is given where exactly one of them fits.
#include "core/conformance/diagnosis/diagnosis.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <limits>
#include <set>
#include <thread>
#include <utility>

namespace locus::conformance {

namespace {

constexpr unsigned kMostWorkers = 4;  // each holds a prediction as large as the stage
constexpr double kFar = 1e-3;         // a hypothesis that leaves this and much more than rounding need not be finished
constexpr double kBeyondBest = 100;   // how many times the best residual every other hypothesis must leave,
constexpr double kBeyondRounding = 10;  // and how many times what rounding allows

/// A hypothesis and the numbers it predicts.
struct Hypothesis {
    Explanation explanation;
    const Variant* variant = nullptr;
    Tensor<double> predicted;
};
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

/// Largest |value|.
double largest_size(const Tensor<double>& values) {
    double size = 0;
    for (const double value : values.values()) size = std::max(size, std::abs(value));
    return size;
}

/// max |a - b|; infinity for another shape, and where either is not a number unless both are: a hypothesis may predict
/// NaN.
double largest_difference(const Tensor<double>& a, const Tensor<double>& b) {
    return a.shape() == b.shape() ? largest_difference(a.data(), b.data(), a.size())
                                  : std::numeric_limits<double>::infinity();
}

/// Thrown by a head that a hypothesis has wrong beyond doubt.
struct FarAway {
    double at_least;  // a lower bound of the residual
};

/// Holds the wrong stage against hypotheses.
class Judge {
public:
    Judge(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict);

    /// The hypothesis that these formulas are the candidate's; nothing if it says nothing about the stage.
    std::optional<Hypothesis> judge(int mistake, const Variant& variant) const;
    /// Every hypothesis that says something about the stage, in the order of the catalogue, the right formula first.
    std::vector<Hypothesis> judge_all() const;
    /// How many stages that the candidate reports around this one are as the variant would have them.
    int explained_around(const Variant& variant) const;

private:
    const std::string& scope() const { return place_.first; }
    const std::string& stem() const { return place_.second; }
    std::optional<Tensor<double>> predict(int mistake, const Variant& variant) const;
    void stop_if_far(Index at, const Matrix<double>& head) const;
    bool contradicted(const Mistake& mistake, const Variant& variant) const;

    const Evidence& evidence_;
    const Comparison& comparison_;
    const StageVerdict& verdict_;
    std::pair<std::string, std::string> place_;
    Tensor<double> found_;
    double largest_ = 0;             // of found_
    std::set<std::string> settled_;  // what the candidate reports and has right
};

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
} catch (const NotEnough&) {  // it is not known where the stage stands
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
    std::atomic<bool> cancelled = false;
    const auto work = [&](bool asks) {  // one thread alone asks whether the result is still wanted
        for (std::size_t n = next++; n < open.size() && !cancelled; n = next++) {
            if (asks && evidence_.stop && evidence_.stop()) cancelled = true;
            if (!cancelled) judged[n] = judge(open[n].first, *open[n].second);
        }
    };
    std::vector<std::future<void>> pool;
    try {
        for (unsigned n = 1; n < std::min(kMostWorkers, std::thread::hardware_concurrency()); ++n)
            pool.push_back(std::async(std::launch::async, work, false));
    } catch (const std::system_error&) {  // the system gives no more threads
    }
    work(true);
    for (std::future<void>& worker : pool) worker.get();
    if (cancelled) throw Cancelled();
    std::vector<Hypothesis> all;
    for (std::optional<Hypothesis>& one : judged)
        if (one) all.push_back(std::move(*one));
    return all;
}

/// Hypotheses that fit equally well are told apart by the other stages that the candidate reports: those that explain
/// fewer of them than another are dropped, and the rest stand in the order of the catalogue.
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
    std::stable_sort(
        all.begin(), std::find_if_not(all.begin(), all.end(), fits),
        [](const Hypothesis& a, const Hypothesis& b) { return a.explanation.mistake < b.explanation.mistake; });
}

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict) {
    Diagnosis diagnosis;
    diagnosis.pattern = describe_difference(evidence, verdict);
    // Nothing was compared: a mistake may explain another shape, none explains another dtype.
    if (verdict.worst < 0 && !verdict.reason.starts_with("shape")) return diagnosis;
    const Judge judge(evidence, comparison, verdict);
    std::vector<Hypothesis> all = judge.judge_all();
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.explanation.residual < b.explanation.residual;
    });
    settle_ties(all, judge);
    for (const Hypothesis& each : all) diagnosis.judged.push_back(each.explanation);
    if (all.empty()) return diagnosis;

    const Hypothesis& best = all.front();
    const double same = best.explanation.allowed * std::max(largest_size(best.predicted), 1e-300);
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
        {16, 20, false, "texts of no more than b tokens",
         "ceil of ln 1 and floor of anything below 1 are both 0, so all buckets up to 2 mid are mid"},
        {27, 30, false, "numbers of heads that are numbers of terms, H = 2, 3, 4",
         "sqrt(D) = sqrt(H d) is the scale of H terms"},
        {33, 35, true, "",
         "a constant that overflows to -inf leaves NaN in rows without keys: that is how most of them get it"},
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

enum class Lack { nothing, input, model };

/// What keeps a hypothesis from saying what the stage would be, if the user could pass it.
Lack lack_of(const Evidence& evidence, const std::string& stage, const Variant& variant) {
    const auto [scope, stem] = scope_and_stem(stage);
    try {
        const Replay replay(evidence, scope, variant.formulas);
        if (replay.touches(stem)) replay.computed(stem);
    } catch (const NotEnough& missing) {
        if (missing.what.find("model folder") != std::string::npos) return Lack::model;
        if (missing.what == "the inputs") return Lack::input;
    } catch (const Error&) {  // shapes that do not fit the formula
    }
    return Lack::nothing;
}

}  // namespace

std::string would_learn(const Evidence& evidence, const StageVerdict& verdict, const Diagnosis& diagnosis) {
    const auto& judged = diagnosis.judged;
    if (diagnosis.named || (evidence.model && !evidence.segments.empty())) return "";
    if (!judged.empty() && judged.front().mistake == 0 && judged.front().fits()) return "";
    std::size_t wait = 0;
    bool model = false;
    for (const Mistake& mistake : catalogue()) {
        const auto is_this = [&](const Explanation& each) { return each.mistake == mistake.number; };
        if (std::any_of(judged.begin(), judged.end(), is_this)) continue;
        if (evidence.model && std::find(mistake.families.begin(), mistake.families.end(), evidence.model->family) ==
                                  mistake.families.end())
            continue;
        Lack worst = Lack::nothing;
        for (const Variant& variant : mistake.variants)
            worst = std::max(worst, lack_of(evidence, verdict.name, variant));
        wait += worst != Lack::nothing;
        model = model || worst == Lack::model;
    }
    if (wait == 0) return "";
    const std::string more = std::to_string(wait) + (wait == 1 ? " more mistake" : " more mistakes");
    return "with " + std::string(model ? "--model DIR (configuration and weights) and " : "") +
           "--input FILE (tokens and masks) " + more + " of the catalogue can be judged at " + verdict.name;
}

}  // namespace locus::conformance
