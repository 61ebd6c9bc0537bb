#pragma once
// Replaced-token detection: the discriminator's head, which tokens count, and what they are labelled.
#include <functional>

#include "core/conformance/formulas/formulas.h"
#include "core/models/layers.h"

namespace locus::conformance {

/// Decides over one token: its id, the original id where it was sampled (0 elsewhere), and whether it is visible.
struct DetectedToken {
    std::int64_t token = 0, original = 0;
    bool visible = true;
};
using TokenRule = std::function<bool(const DetectedToken&)>;

/// 1 where `replaced` says so, 0 elsewhere, of the tokens that count, sample by sample -> [N].
/// Throws NotEnough without labels.
Tensor<double> replaced_labels(const Replay& at, const TokenRule& counts, const TokenRule& replaced);
/// Binary cross entropy with logits [B,T] of the tokens that count; labels [N] -> [N].
Tensor<double> replaced_losses(const Replay& at, const TokenRule& counts);

/// The head of the discriminator: what it norms, h_0 + h of each sample, or h alone -> [B,T,D]; its norm, and its first
/// dense layer [D,D].
Tensor<double> detector_sum(const Replay& at, bool with_first);
Norm<double> detector_norm(const Replay& at);
Dense<double> detector_dense(const Replay& at);

/// The right rules: visible tokens count; sampled and not the original is replaced.
bool is_visible(const DetectedToken& token);
bool is_replaced(const DetectedToken& token);

// SiFT: what is perturbed, the model after it, one step of the perturbation, and the loss.

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
