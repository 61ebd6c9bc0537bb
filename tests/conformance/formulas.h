#pragma once
// Right formulas by family, and those that several families share.
#include <vector>

#include "tests/conformance/arithmetic.h"
#include "tests/conformance/evidence.h"

namespace locus::conformance {

std::vector<Formula> deberta_formulas();

/// The stages of a DeBERTa outside its layers, and what version 1 and the convolution add to a layer.
std::vector<Formula> deberta_model_formulas();

/// probs from scores and the mask of the input; hidden keys exactly 0.
Tensor<double> masked_probabilities(const Replay& at, const std::string& scores = "scores");
/// context from probs and v, heads joined.
Tensor<double> joined_context(const Replay& at, const std::string& probs = "probs");

}  // namespace locus::conformance
