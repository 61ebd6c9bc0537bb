#pragma once
// Softmax over the visible keys, hidden ones get exactly 0: forward, backward, and one probability step by step.
#include <vector>

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
/// scores [Tq,Tk], mask [Tq,Tk] or empty -> [Tq,Tk].  Throws Error(usage) if the shapes differ.
/// Source: microsoft/DeBERTa ops.py XSoftmax.
template <class Scalar>
Matrix<Scalar> masked_softmax(const ConstView<Scalar>& scores, const Mask& mask,
                              MaskedRow masked_row = MaskedRow::zero);

// Backward

/// p_j = e^{s_j} / sum over l of e^{s_l}, so dp_j / ds_l = p_j (1[j = l] - p_l), and row by row
/// d_scores = probs * (d_probs - sum over j of probs * d_probs), * element by element.  A row of d_scores sums to 0:
/// raising all scores of a query together moves nothing.  Where probs is 0 - hidden keys, queries that see no key -
/// d_scores is 0 by itself; a row that MaskedRow::uniform filled depends on no score, so its d_probs are for the caller
/// to put to 0. probs as masked_softmax returned them, d_probs [Tq,Tk] -> [Tq,Tk].  Throws Error(usage) if the shapes
/// differ.
template <class Scalar>
Matrix<Scalar> softmax_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& d_probs);

template <class Scalar>
struct ContextGradients {
    Matrix<Scalar> v;       // [Tk,d]
    Matrix<Scalar> scores;  // [Tq,Tk], of what went into the softmax
};

/// The last step of every attention, context = (probs * keep) v, * element by element, backward:
/// d_v = (probs * keep)^T d_context, d_probs = (d_context v^T) * keep, and d_scores by softmax_backward.  keep is the
/// mask of the dropout, 0 or 1 / (1 - p), the same in both directions; empty: none.
/// probs, keep [Tq,Tk], v [Tk,d], d_context [Tq,d].  Throws Error(usage) that names what does not fit.
template <class Scalar>
ContextGradients<Scalar> context_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                          const ConstView<Scalar>& v, const ConstView<Scalar>& d_context);

// Explanation

/// From one score to its probability.
template <class Scalar>
struct SoftmaxSteps {
    bool visible = true;        // false: the mask hides the pair
    bool sees_nothing = false;  // the query has no visible key at all: the probability is what MaskedRow says
    Scalar row_maximum = 0;     // over visible keys
    Index row_maximum_key = -1;
    Scalar shifted = 0;      // score - row_maximum
    Scalar exponential = 0;  // exp(shifted)
    Scalar denominator = 0;  // sum of the row's exponentials, key after key
    Scalar probability = 0;  // exponential / denominator; exactly 0 for a hidden pair of a row that sees something
};

/// Replays masked_softmax for key j of query i, to the last bit.  scores [Tk] of row i, mask [Tq,Tk] or empty.
/// Throws Error(usage) if j or the mask do not fit.
template <class Scalar>
SoftmaxSteps<Scalar> explain_softmax(const std::vector<Scalar>& scores, const Mask& mask, Index i, Index j,
                                     MaskedRow masked_row = MaskedRow::zero);

}  // namespace locus
