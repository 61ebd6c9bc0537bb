#pragma once
// Pieces that several wrong masks and softmaxes are put together from.
#include <functional>

#include "core/conformance/diagnosis/visibility.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/mistakes/mistake.h"

namespace locus::conformance {

/// Scores as they go into the softmax: mixed by talking heads where the model has them.
const Tensor<double>& softmax_input(const Replay& at);
/// probs by another rule for one head: scores [Tq,Tk], sample b, head h -> probs.
using HeadRule = std::function<Matrix<double>(const Replay&, const Matrix<double>&, Index b, Index h)>;
Formula probs_by(HeadRule rule);
/// Softmax over all keys.
Matrix<double> plain_softmax(const Matrix<double>& scores);
/// Throws NotEnough unless somebody is hidden: without that no mistake about masks can be told.
void require_hidden(const Mask& mask);

}  // namespace locus::conformance
