#pragma once
// Softmax over keys backwards, and with it the end that all attentions share: context = dropout(softmax(scores)) v.
#include "core/tensor.h"

namespace locus {

/// p_j = e^{s_j} / sum over l of e^{s_l}, so dp_j / ds_l = p_j (1[j = l] - p_l), and row by row
/// d_scores = probs (d_probs - sum over j of probs d_probs).  A row of d_scores sums to 0: raising all scores of a
/// query together moves nothing.  Where probs is 0 - hidden keys, queries that see no key - d_scores is 0 by itself; a
/// row that MaskedRow::uniform filled depends on no score, so its d_probs are for the caller to put to 0.
/// probs as masked_softmax left them, d_probs [Tq,Tk] -> [Tq,Tk].  Throws Error(usage) if the shapes differ.
template <class Scalar>
Matrix<Scalar> softmax_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& d_probs);

template <class Scalar>
struct ContextGradients {
    Matrix<Scalar> v;       // [Tk,d]
    Matrix<Scalar> scores;  // [Tq,Tk], of what went into the softmax
};

/// context = (probs keep) v, so d_v = (probs keep)^T d_context,  d_probs = (d_context v^T) keep, and d_scores by
/// softmax_backward.  keep is the mask of the dropout, 0 or 1 / (1 - share), the same in both directions; empty: none.
/// probs, keep [Tq,Tk], v [Tk,d], d_context [Tq,d].  Throws Error(usage) that names what does not fit.
template <class Scalar>
ContextGradients<Scalar> context_backward(const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                          const ConstView<Scalar>& v, const ConstView<Scalar>& d_context);

}  // namespace locus
