#pragma once
// Fine-tuning: one label for a whole text, read off its first token.
// transformers DebertaV2ForSequenceClassification: ContextPooler and classifier.
#include "core/training/deberta_training.h"

namespace locus {

/// pooler.dense [D,D] and classifier [C,D], with biases.
TensorShapes classification_head_tensors(const DebertaConfig& config, Index classes);

/// What the head computed; B texts, C classes.
template <class Scalar>
struct ClassificationTape {
    Matrix<Scalar> first;           // [B,D], the first rows, dropped
    Matrix<Scalar> act_in, pooled;  // [B,D], before the activation, and after it, dropped
    Matrix<Scalar> logits;          // [B,C]
    std::vector<Scalar> losses;     // [B]
};

/// act(pooler.dense(h_first)), classifier; cross entropy against labels [B].  x [N,D].  Both places have dropout; act
/// is pooler_hidden_act.  Throws Error(usage) for a label outside 0 ... C - 1, or unless there is one label per text,
/// and Error(unsupported) for another activation than those of config.json.
template <class Scalar>
ClassificationTape<Scalar> classification_forward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                                  const PackedBatch& batch, const std::vector<std::int64_t>& labels,
                                                  const Dropout& dropout, const ConstView<Scalar>& x);
/// Of the mean loss -> the gradient of x [N,D]; adds to the gradients of the head.
template <class Scalar>
Matrix<Scalar> classification_backward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                       const PackedBatch& batch, const std::vector<std::int64_t>& labels,
                                       const Dropout& dropout, const ClassificationTape<Scalar>& tape,
                                       Parameters<Scalar>& gradients);

/// One step: the mean loss; adds its gradient.
template <class Scalar>
double classification_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch,
                           const std::vector<std::int64_t>& labels, const Dropout& dropout,
                           Parameters<Scalar>& gradients);
/// The likeliest class of each text, without dropout.
template <class Scalar>
std::vector<std::int64_t> classify(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                   const PackedBatch& batch);

}  // namespace locus
