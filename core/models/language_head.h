#pragma once
// From vectors to words: logits against a word table, and the loss of a target.
#include <functional>
#include <string>
#include <vector>

#include "core/models/layers.h"
#include "core/models/model_input.h"
#include "core/trace.h"

namespace locus {

/// Rows first ... first + count - 1 of the word table [count,E]; a table may be a large mapped file.
template <class Scalar>
using WordBlock = std::function<Matrix<Scalar>(Index first, Index count)>;

/// x E_word^T + bias, a block of words at a time.  x [N,E], words V, bias [V] or empty -> [N,V].
template <class Scalar>
Matrix<Scalar> word_logits(const ConstView<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias);

/// -log softmax(logits)[label].  Throws Error(usage) for a label outside the row.
template <class Scalar>
Scalar cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label);

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
void masked_words(const MaskedWordHead<Scalar>& head, const ModelInput& input, const Tensor<Scalar>& x, Trace& trace);

}  // namespace locus
