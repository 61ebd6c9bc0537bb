#pragma once
// Softmax over keys, with a mask that keeps its promises.
#include "core/tensor.h"

namespace locus {

/// Visible pairs: 1 where query i may look at key j.  [Tq, Tk]; an empty mask shows everything.
using Mask = Matrix<std::uint8_t>;

/// What becomes of a query that sees no key at all.
enum class MaskedRow {
    zero,     // microsoft/DeBERTa (XSoftmax): all probabilities 0, context 0
    uniform,  // transformers 4.57: 1/Tk on every key, hidden ones too
};

/// probs[i,j] = exp(scores[i,j] - max_i) / sum_j exp(scores[i,j] - max_i), over the visible keys; hidden keys get
/// exactly 0. The maximum is taken over visible keys only (the official code includes hidden ones and loses precision).
/// scores [Tq,Tk], mask [Tq,Tk] or empty -> [Tq,Tk].  Throws if the shapes differ.
/// Source: microsoft/DeBERTa ops.py XSoftmax.
template <class Scalar>
Matrix<Scalar> masked_softmax(const ConstView<Scalar>& scores, const Mask& mask,
                              MaskedRow masked_row = MaskedRow::zero);

}  // namespace locus
