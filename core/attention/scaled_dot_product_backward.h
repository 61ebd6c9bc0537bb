#pragma once
// Attention without positions backwards; RoPE and the biased attentions differ from it only before and beside.
#include "core/tensor.h"

namespace locus {

template <class Scalar>
struct DotProductGradients {
    Matrix<Scalar> q, k, v;  // [Tq,d], [Tk,d], [Tk,d_v]
    Matrix<Scalar> scores;   // [Tq,Tk], of what went into the softmax
};

/// scores = q k^T / divisor + (what does not depend on q and k), so with d_scores and d_v from context_backward
/// d_q = d_scores k / divisor,  d_k = d_scores^T q / divisor.
/// probs [Tq,Tk] as the softmax left them; keep [Tq,Tk]: mask of the dropout, or empty; d_context [Tq,d_v].
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
DotProductGradients<Scalar> dot_product_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                                 const ConstView<Scalar>& v, const ConstView<Scalar>& probs,
                                                 const ConstView<Scalar>& keep, Scalar divisor,
                                                 const ConstView<Scalar>& d_context);

/// The same with the divisor of scaled_dot_product, sqrt(d).
template <class Scalar>
DotProductGradients<Scalar> scaled_dot_product_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                                        const ConstView<Scalar>& v, const ConstView<Scalar>& probs,
                                                        const ConstView<Scalar>& keep,
                                                        const ConstView<Scalar>& d_context);

}  // namespace locus
