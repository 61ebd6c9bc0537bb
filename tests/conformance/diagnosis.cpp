#include "tests/conformance/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::conformance {

namespace {

constexpr double kBeyondBest = 100;     // how many times the best residual every other hypothesis must leave,
constexpr double kBeyondRounding = 10;  // and how many times what rounding allows

double largest(const Tensor<double>& values) {
    double size = 0;
    for (const double value : values.values()) size = std::max(size, std::abs(value));
    return size;
}

/// max |a - b|; infinity for another shape or anything that is not a number, unless both are.
double distance(const Tensor<double>& a, const Tensor<double>& b) {
    if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (Index n = 0; n < a.size(); ++n) {
        if (std::isnan(a[n]) && std::isnan(b[n])) continue;  // a hypothesis may predict NaN
        const double difference = std::abs(a[n] - b[n]);
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
    }
    return worst;
}

/// A hypothesis and the numbers it predicts.
struct Hypothesis {
    Explanation explanation;
    const Variant* variant = nullptr;
    Tensor<double> predicted;
};

/// True if the candidate reports a stage that this way of making the mistake makes wrong, and has it right.
bool contradicted(const Mistake& mistake, const Variant& variant, const Replay& replay, const std::string& failing,
                  const Comparison& comparison) {
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
}

class Judge {
public:
    Judge(const Evidence& evidence, const StageVerdict& verdict)
        : evidence_(evidence),
          verdict_(verdict),
          place_(scope_and_stem(verdict.name)),
          found_(widened(evidence.candidate.at(verdict.name))) {}

    const std::string& scope() const { return place_.first; }
    const std::string& stem() const { return place_.second; }

    /// The hypothesis that these formulas are the candidate's; nothing if it says nothing about the stage.
    std::optional<Hypothesis> judge(int mistake, const Variant& variant) const {
        std::optional<Tensor<double>> predicted = predict(mistake, variant);
        if (!predicted) return std::nullopt;
        Hypothesis hypothesis;
        hypothesis.predicted = std::move(*predicted);
        hypothesis.variant = &variant;
        double size = largest(hypothesis.predicted);
        if (size == 0) size = 1;  // nothing but zeros, as behind an inverted mask
        hypothesis.explanation.mistake = mistake;
        hypothesis.explanation.how = variant.how;
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
            const Replay replay(evidence_, scope(), variant.formulas);
            if (mistake != 0 && !replay.touches(stem())) return std::nullopt;
            return replay.computed(stem());
        } catch (const NotEnough&) {
            return std::nullopt;
        } catch (const Error&) {  // shapes that do not fit the formula
            return std::nullopt;
        }
    }

    const Evidence& evidence_;
    const StageVerdict& verdict_;
    std::pair<std::string, std::string> place_;
    Tensor<double> found_;
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

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict) {
    Diagnosis diagnosis;
    diagnosis.pattern = describe_difference(evidence, verdict);
    // Nothing was compared: a mistake may explain another shape, none explains another dtype.
    if (verdict.worst < 0 && !verdict.reason.starts_with("shape")) return diagnosis;
    const Judge judge(evidence, verdict);
    std::vector<Hypothesis> all;
    const Variant as_it_should_be;
    const std::optional<Family> family = known_family(evidence);
    if (const auto right = judge.judge(0, as_it_should_be)) all.push_back(*right);
    for (const Mistake& mistake : catalogue()) {
        if (family && std::find(mistake.families.begin(), mistake.families.end(), *family) == mistake.families.end())
            continue;
        for (const Variant& variant : mistake.variants) {
            const Replay replay(evidence, judge.scope(), variant.formulas);
            if (contradicted(mistake, variant, replay, judge.stem(), comparison)) continue;
            if (auto hypothesis = judge.judge(mistake.number, variant)) all.push_back(std::move(*hypothesis));
        }
    }
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
