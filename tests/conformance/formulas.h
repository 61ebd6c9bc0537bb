#pragma once
// Right formulas by family, and those that several families share.
#include <vector>

#include "tests/conformance/arithmetic.h"
#include "tests/conformance/evidence.h"

namespace locus::conformance {

std::vector<Formula> deberta_formulas();

/// probs from scores and the mask of the input; hidden keys exactly 0, rows without any key as the reference has them.
Tensor<double> masked_probabilities(const Replay& at, const std::string& scores = "scores");
/// context from probs and v, heads joined.
Tensor<double> joined_context(const Replay& at, const std::string& probs = "probs");

}  // namespace locus::conformance
