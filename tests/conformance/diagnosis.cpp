#include "tests/conformance/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace locus::conformance {

namespace {

constexpr double kBeyondBest = 100;     // how many times the best residual every other hypothesis must leave,
constexpr double kBeyondRounding = 10;  // and how many times what rounding allows

/// "segment.1.layer.0.bd" -> "segment.1.layer.0." and "bd"; "relative.index" -> "" and "/relative.index".
std::pair<std::string, std::string> scope_and_stem(const std::string& name) {
    std::size_t at = name.starts_with("segment.") ? name.find('.', 8) + 1 : 0;
    for (const char* group : {"layer.", "emd."})
        if (name.compare(at, std::string(group).size(), group) == 0 &&
            std::isdigit(static_cast<unsigned char>(name[at + std::string(group).size()]))) {
            const std::size_t end = name.find('.', at + std::string(group).size()) + 1;
            return {name.substr(0, end), name.substr(end)};
        }
    return {name.substr(0, at), "/" + name.substr(at)};
}

double largest(const Tensor<double>& values) {
    double size = 0;
    for (const double value : values.values()) size = std::max(size, std::abs(value));
    return size;
}

/// max |a - b|; infinity for another shape or anything that is not a number.
double distance(const Tensor<double>& a, const Tensor<double>& b) {
    if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (Index n = 0; n < a.size(); ++n) {
        const double difference = std::abs(a[n] - b[n]);
        if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, difference);
    }
    return worst;
}

/// A hypothesis and the numbers it predicts.
struct Hypothesis {
    Explanation explanation;
    Tensor<double> predicted;
};

/// True if the candidate reports a stage that the mistake makes wrong, and has it right.
bool contradicted(const Mistake& mistake, const std::string& scope, const std::string& failing,
                  const Comparison& comparison) {
    for (const std::string& stem : mistake.stems)
        for (const StageVerdict& verdict : comparison.stages)
            if (stem != failing && verdict.pass &&
                verdict.name == (stem.starts_with('/') ? stem.substr(1) : scope + stem))
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
        const double size = std::max(largest(hypothesis.predicted), 1e-300);
        hypothesis.explanation.mistake = mistake;
        hypothesis.explanation.how = variant.how;
        hypothesis.explanation.residual = distance(found_, hypothesis.predicted) / size;
        hypothesis.explanation.allowed = verdict_.tolerance.relative + verdict_.tolerance.absolute / size;
        return hypothesis;
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

}  // namespace

Diagnosis diagnose(const Evidence& evidence, const Comparison& comparison, const StageVerdict& verdict) {
    Diagnosis diagnosis;
    diagnosis.pattern = describe_difference(evidence, verdict);
    if (verdict.worst < 0) return diagnosis;  // nothing was compared: another shape or dtype
    const Judge judge(evidence, verdict);
    std::vector<Hypothesis> all;
    if (const auto right = judge.judge(0, {})) all.push_back(*right);
    for (const Mistake& mistake : catalogue()) {
        if (evidence.model && std::find(mistake.families.begin(), mistake.families.end(), evidence.model->family) ==
                                  mistake.families.end())
            continue;
        if (contradicted(mistake, judge.scope(), judge.stem(), comparison)) continue;
        for (const Variant& variant : mistake.variants)
            if (auto hypothesis = judge.judge(mistake.number, variant)) all.push_back(std::move(*hypothesis));
    }
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.explanation.residual < b.explanation.residual;
    });
    for (const Hypothesis& each : all) diagnosis.judged.push_back(each.explanation);
    if (all.empty()) return diagnosis;

    const Hypothesis& best = all.front();
    const double same = best.explanation.allowed * std::max(largest(best.predicted), 1e-300);
    const Hypothesis* next = nullptr;
    for (std::size_t n = 1; n < all.size() && !next; ++n) {
        if (all[n].explanation.mistake == best.explanation.mistake) continue;
        if (distance(all[n].predicted, best.predicted) <= same)
            diagnosis.equivalent.push_back(all[n].explanation.mistake);
        else
            next = &all[n];
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
