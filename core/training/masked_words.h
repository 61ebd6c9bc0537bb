#pragma once
// The masked-word objective: the loss of every target, and back to the rows that the head read.
#include "core/training/deberta_training.h"
#include "core/training/mean_loss.h"

namespace locus {

/// What the head left behind; M targets.
template <class Scalar>
struct MaskedWordsTape {
    std::vector<Index> rows;            // [M], where the targets stand
    std::vector<std::int64_t> labels;   // [M]
    Matrix<Scalar> x;                   // [M,D]
    Matrix<Scalar> act_in, norm_input;  // [M,E], before the activation and before the norm
    Matrix<Scalar> transformed;         // [M,E]
    Matrix<Scalar> logits;              // [M,V]
    std::vector<Scalar> losses;         // [M]
};

/// norm(act(dense(x))) against the word table, at the targets alone (label above 0).  x [N,D].  spec 4.4.
template <class Scalar>
MaskedWordsTape<Scalar> masked_words_forward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                             const PackedBatch& batch, const ConstView<Scalar>& x);

/// d_logits [M,V] of the loss -> the gradient of x [N,D]; adds to the gradients of the head and of the word table,
/// which is the output matrix too.
template <class Scalar>
Matrix<Scalar> masked_words_backward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                     const PackedBatch& batch, const MaskedWordsTape<Scalar>& tape,
                                     const ConstView<Scalar>& d_logits, Parameters<Scalar>& gradients);

/// d_logits of factor * mean loss: factor (softmax - onehot) / M.
template <class Scalar>
Matrix<Scalar> mean_loss_backward(const MaskedWordsTape<Scalar>& tape, ThreadPool& pool, Scalar factor = 1);

/// One step of masked language modelling: what the head left behind; adds the gradient of the mean loss to every
/// parameter.  `stages` as in DebertaTraining::backward.
template <class Scalar>
MaskedWordsTape<Scalar> masked_language_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                             const PackedBatch& batch, const Dropout& dropout,
                                             Parameters<Scalar>& gradients, Trace* stages = nullptr);
/// The losses alone, without dropout and without a gradient.
template <class Scalar>
std::vector<Scalar> masked_language_losses(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                           const PackedBatch& batch);

}  // namespace locus
