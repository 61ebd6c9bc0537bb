#pragma once
// Hypotheses: what a stage would be if a mistake had been made, and how far the candidate is from it.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/conformance/diagnosis/diagnosis.h"

namespace locus::conformance {

inline constexpr double kBeyondBest = 100;     // how many times the best residual every other hypothesis must leave,
inline constexpr double kBeyondRounding = 10;  // and how many times what rounding allows

/// A hypothesis and the numbers it predicts.
struct Hypothesis {
    Explanation explanation;
    const Variant* variant = nullptr;
    Tensor<double> predicted;
};

/// Largest |value|.
double largest_size(const Tensor<double>& values);
/// max |a - b|; infinity for another shape, and where either is not a number unless both are: a hypothesis may predict
/// NaN.
double largest_difference(const Tensor<double>& a, const Tensor<double>& b);

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

}  // namespace locus::conformance
