#pragma once
// Scale-invariant fine-tuning: the predictions should not change when the normalised embeddings are pushed a little in
// the worst direction.  He et al. 2021, section 4; microsoft/DeBERTa sift.py.
#include "core/training/masked_words.h"

namespace locus {

struct SiftSettings {
    double deviation = 1e-2;  // init_perturbation: of the noise, which is cut at twice as much
    double rate = 1e-4;       // learning_rate of the one step
    double weight = 5;        // vat_lambda, what the loss is multiplied by before it joins the task's
};

/// What one step computed; M targets.
template <class Scalar>
struct SiftTape {
    Matrix<Scalar> xhat;                   // [N,D], embeddings under a norm without weights
    Matrix<Scalar> delta0, grad, delta;    // [N,D]: noise, the gradient there, after the step
    Matrix<Scalar> logits_clean, logits0;  // [M,V]: as they are, and under delta0
    Matrix<Scalar> logits;                 // [M,V], under delta
    std::vector<Scalar> losses0;           // [M], under delta0; their sum is differentiated
    double task = 0;                       // mean masked-word loss of the clean pass
    double loss = 0;                       // mean symmetric loss under delta
    bool skipped = false;                  // the gradient was not finite, delta stayed delta0
};

/// xhat of the official code, row by row: (x - mean) / sqrt(variance + 1e-7).  sum [N,D] -> [N,D].
template <class Scalar>
Matrix<Scalar> sift_normalise(const ConstView<Scalar>& sum);

/// -sum softmax(t) log softmax(s) - sum softmax(s) log softmax(t), a row: two cross entropies.  The weighting
/// probabilities are held, so d / ds = softmax(s) - softmax(t), and the negative of it for t.
template <class Scalar>
Scalar symmetric_cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& s,
                               const Eigen::Ref<const RowVector<Scalar>>& t);

/// delta0 + rate g / (1e-6 + max |g|), row by row: the longest side of each token's step is `rate`.
template <class Scalar>
Matrix<Scalar> sift_perturb(const ConstView<Scalar>& delta0, const ConstView<Scalar>& gradient, double rate);

/// One step of masked language modelling with SiFT: task_weight * task + settings.weight * loss; adds its gradient.
/// noise [N,D] is already times the deviation and is cut here.  The three passes use the dropouts of `passes` in turn
/// (clean, adversarial, perturbed).  What lies below the norm learns from the clean pass alone.
template <class Scalar>
SiftTape<Scalar> sift_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch,
                           const Dropout (&passes)[3], const SiftSettings& settings, const ConstView<Scalar>& noise,
                           Parameters<Scalar>& gradients, Scalar task_weight = 1);

}  // namespace locus
