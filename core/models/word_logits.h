#pragma once
// From vectors to words, and from words to the loss of one.
#include <cstdint>
#include <functional>

#include "core/tensor.h"

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

/// Words whose rows of the table are in memory at once.
inline constexpr Index kWordsAtOnce = 4096;

}  // namespace locus
