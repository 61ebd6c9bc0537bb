// What a difference looks like when no mistake is known by name.
#include <algorithm>
#include <cmath>

#include "tests/conformance/diagnosis.h"

namespace locus::conformance {

std::string describe_difference(const Evidence& evidence, const StageVerdict& verdict) {
    if (verdict.worst < 0) return verdict.reason;
    const Tensor<double> right = widened(evidence.reference.at(verdict.name));
    const Tensor<double> found = widened(evidence.candidate.at(verdict.name));
    const double allowed = verdict.allowed;
    double dot = 0, square = 0;
    for (Index n = 0; n < right.size(); ++n) {
        dot += right[n] * found[n];
        square += right[n] * right[n];
    }
    const double factor = square > 0 ? dot / square : 0;
    bool constant = factor != 0;
    for (Index n = 0; n < right.size() && constant; ++n)
        constant = std::abs(found[n] - factor * right[n]) <= allowed * std::max(1.0, std::abs(factor));
    if (constant) return "every value is " + std::to_string(factor) + " times what it should be";
    return "no pattern found";
}

}  // namespace locus::conformance
