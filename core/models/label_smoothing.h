#pragma once
// Label smoothing: the target is not one-hot, so no logit is pulled towards infinity.
// Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4 (epsilon = 0.1).
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Who shares epsilon.
enum class SmoothingShare {
    all_words,    // epsilon / V to every word, the right one too: Szegedy et al., PyTorch
    other_words,  // epsilon / (V - 1) to every wrong word: tensor2tensor
};

struct LabelSmoothing {
    double epsilon = 0.1;
    SmoothingShare share = SmoothingShare::all_words;
};

/// The target distribution q' of one label over V words; it sums to 1.
/// Throws Error(usage) unless V >= 2, 0 <= label < V and 0 <= epsilon < 1.
RowVector<double> smoothed_target(Index words, std::int64_t label, const LabelSmoothing& smoothing);

/// -sum over w of q'[w] ln softmax(logits)[w], in nats, logits [V].  Throws as above.
template <class Scalar>
Scalar smoothed_loss(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label,
                     const LabelSmoothing& smoothing);

/// d_logits = softmax(logits) - q', because q' sums to 1: 0 where the answer is the smoothed target itself.  -> [V].
template <class Scalar>
RowVector<Scalar> smoothed_loss_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label,
                                         const LabelSmoothing& smoothing);

/// What no logits can go below: the entropy of q', reached where softmax(logits) = q'.  0 for epsilon = 0.
double least_smoothed_loss(Index words, const LabelSmoothing& smoothing);

/// One loss per target: logits [B,T,V], labels [B,T], 0 = not a target -> [N], sample by sample.
/// Throws Error(usage) if labels are not one per row of logits.
template <class Scalar>
Tensor<Scalar> smoothed_losses(const Tensor<Scalar>& logits, const IndexTensor& labels,
                               const LabelSmoothing& smoothing);

}  // namespace locus
