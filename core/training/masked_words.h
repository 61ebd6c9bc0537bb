#pragma once
// The masked-word objective: the loss of every target, its gradient, and the gradients of a whole model as a trace.
#include <vector>

#include "core/models/deberta.h"
#include "core/training/deberta_training.h"
#include "core/training/parameters.h"

namespace locus {

/// What the head computed; M targets.
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

/// norm(act(dense(x))) against the word table, at the targets alone (label above 0).  x [N,D].
/// Source: microsoft/DeBERTa bert.py BertLMPredictionHead.
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

/// One step of masked language modelling -> what the head computed; adds the gradient of the mean loss to every
/// parameter.  `stages` as in DebertaTraining::backward.
template <class Scalar>
MaskedWordsTape<Scalar> masked_language_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                             const PackedBatch& batch, const Dropout& dropout,
                                             Parameters<Scalar>& gradients, Trace* stages = nullptr);
/// The losses alone, without dropout and without a gradient.
template <class Scalar>
std::vector<Scalar> masked_language_losses(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                           const PackedBatch& batch);

/// Mean loss of the targets, summed in double; 0 where there are none.
template <class Scalar>
double mean_loss(const std::vector<Scalar>& losses) {
    double sum = 0;
    for (const Scalar loss : losses) sum += static_cast<double>(loss);
    return losses.empty() ? 0 : sum / static_cast<double>(losses.size());
}

// The backward pass of a whole DeBERTa, stage by stage, under the names of the forward pass.

/// grad.<stage> for the stages a layer keeps, and grad.<parameter> under the names of the checkpoint's file with
/// "deberta." in front of the encoder's: gradients of the mean masked-word loss over input.labels, without dropout.
/// The decoder runs where the checkpoint has one, unless `decoder` is false.  Stages come in the order of
/// core/stages.h. Throws Error(usage) without labels, for bad input, and for a pattern of `wanted` that matches
/// nothing; Error(unsupported) for version 1, talking heads, a mask [B,T,T] and a checkpoint without a masked-word
/// head.
template <class Scalar>
Trace gradient_trace(const DebertaConfig& config, const std::shared_ptr<const WeightSource>& weights,
                     const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted);

}  // namespace locus
