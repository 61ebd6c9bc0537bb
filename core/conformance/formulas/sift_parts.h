#pragma once
// SiFT: what is perturbed, the model behind it, one step of the perturbation, and the loss.
#include <functional>

#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

/// The masked-word logits of the targets (label > 0), sample by sample, if the embeddings' norm is given x [B,T,D]; or,
/// where `behind_norm`, if x stands in place of what that norm gives -> [N,V].  The official decoder runs.
/// Throws NotEnough without labels or where no token is a target.
Tensor<double> sift_answers(const Replay& at, const Tensor<double>& x, bool behind_norm);
/// logits_clean, logits0 and logits from xhat, delta0 and delta.
std::vector<Formula> sift_answer_formulas(bool behind_norm);

/// eta, as the reference's own step shows it: the step's entry where the gradient is largest in its token.
double sift_learning_rate(const Replay& at);
/// delta0 + eta * direction(grad); grad [B,T,D].
using SiftDirection = std::function<Tensor<double>(const Tensor<double>& grad)>;
Tensor<double> sift_step(const Replay& at, const SiftDirection& direction);

/// One loss of rows s and t [N,V] -> [N].
using RowLoss = std::function<double(const RowVector<double>& s, const RowVector<double>& t)>;
Tensor<double> sift_losses(const Tensor<double>& s, const Tensor<double>& t, const RowLoss& loss);
/// loss0 and loss, its mean.
std::vector<Formula> sift_loss_formulas(const RowLoss& loss);
/// -sum_c p_c log q_c for logits of p and q.
double cross_entropy_of(const RowVector<double>& p, const RowVector<double>& q);

}  // namespace locus::conformance
