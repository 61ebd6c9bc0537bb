#include "core/conformance/diagnosis/diagnosis.h"

#include <algorithm>

#include "core/conformance/diagnosis/hypothesis.h"

namespace locus::conformance {

namespace {

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

}  // namespace locus::conformance
