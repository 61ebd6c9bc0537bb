#pragma once
// The masked-word head: a transform, logits against the word table, and the loss of every target.
#include "core/models/model_input.h"
#include "core/models/operations.h"
#include "core/trace.h"

namespace locus {

/// The masked-word head of BERT, DeBERTa and RoFormer.
template <class Scalar>
struct MaskedWordHead {
    Dense<Scalar> dense;  // [E,D]
    Norm<Scalar> norm;    // E
    Activation activation = Activation::gelu;
    double eps = 1e-12;
    WordBlock<Scalar> table;  // E_word
    Index words = 0;
    RowVector<Scalar> bias;  // [V]
};

/// mlm.*: norm(act(dense(x))) against the word table, for all tokens and for input.mask_positions; the loss of every
/// label above 0, sample by sample.  x [B,T,D].
template <class Scalar>
void masked_words(const MaskedWordHead<Scalar>& head, const ModelInput& input, const Tensor<Scalar>& x, Trace& trace,
                  const Operations<Scalar>& compute = cpu_operations<Scalar>());

}  // namespace locus
