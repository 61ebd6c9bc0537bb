#pragma once
// The GPU twins of core/models/word_logits.h.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/models/word_logits.h"

namespace locus::cuda {

/// x E_word^T + bias.  x [N,E], words V, bias [V] or empty -> [N,V].
template <class Scalar>
Matrix<Scalar> word_logits(const Matrix<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias);

/// -log softmax(logits)[label].
template <class Scalar>
Scalar cross_entropy(const RowVector<Scalar>& logits, std::int64_t label);

}  // namespace locus::cuda
