#pragma once
// Replaced-token detection: a generator fills in words, a discriminator tells which are not the author's.
// He et al. 2023 (DeBERTa v3); microsoft/DeBERTa replaced_token_detection_model.py, rtd_task.py.
#include "core/training/masked_words.h"
#include "core/training/random.h"

namespace locus {

/// mask_predictions.*: norm, dense, classifier to one number.
TensorShapes detection_head_tensors(const DebertaConfig& config);

/// What the head computed; N tokens.
template <class Scalar>
struct ReplacedTokensTape {
    Matrix<Scalar> norm_input, norm;   // [N,D]: h_first + h, and after its norm
    Matrix<Scalar> act_in, act;        // [N,D], before the activation and after it
    RowVector<Scalar> logits;          // [N]
    std::vector<Index> rows;           // [M], the visible tokens
    std::vector<std::int64_t> labels;  // [M], 1: replaced
    std::vector<Scalar> losses;        // [M]
};

/// norm(h_first + h), dense, activation, one number; binary cross entropy over the visible tokens.  A token is replaced
/// if it was a target and is not what it was: a generator's lucky guess counts as original.  x [N,D]; batch.labels hold
/// the original ids of the targets.
template <class Scalar>
ReplacedTokensTape<Scalar> replaced_tokens_forward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                                   const PackedBatch& batch, const ConstView<Scalar>& x);
/// Of factor * mean loss -> the gradient of x [N,D]; adds to the gradients of the head.
template <class Scalar>
Matrix<Scalar> replaced_tokens_backward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                        const PackedBatch& batch, const ReplacedTokensTape<Scalar>& tape, Scalar factor,
                                        Parameters<Scalar>& gradients);

/// One step of the discriminator: adds the gradient of factor * mean loss -> the mean loss itself.
template <class Scalar>
double detection_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch,
                      const Dropout& dropout, Scalar factor, Parameters<Scalar>& gradients);

/// The generator's words for its targets: one draw from softmax(logits / temperature) each, put in their places.
/// No gradient flows through the draw.
template <class Scalar>
PackedBatch replace_tokens(const PackedBatch& masked, const MaskedWordsTape<Scalar>& generator, double temperature,
                           RandomStream& random);

/// How two models share their word tables.
enum class EmbeddingSharing {
    gdes,  // E_D = hold(E_G) + E_delta: each table gets the gradient of its own loss alone
    es,    // E_D = E_G: the generator's table gets both
    none,  // two tables
};

/// The table the discriminator sees.  gdes: generator + delta, where the discriminator's own entry is the delta.
template <class Scalar>
Parameters<Scalar> discriminator_values(const Parameters<Scalar>& generator, const Parameters<Scalar>& discriminator,
                                        EmbeddingSharing sharing);
/// Where the gradient of that table goes: to the delta (or the own table); es: to the generator's, with the own entry
/// left 0.
template <class Scalar>
void share_gradients(Parameters<Scalar>& discriminator_gradients, Parameters<Scalar>& generator_gradients,
                     EmbeddingSharing sharing);

}  // namespace locus
