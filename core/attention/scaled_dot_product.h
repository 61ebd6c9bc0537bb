#pragma once
// Attention without positions, forward and backward.  Vaswani et al. 2017, eq. 1.
// Rotary and biased attention are this one with rotated operands or with an added bias, so their gradients come from
// here.
#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// softmax(q k^T / sqrt(d)) v, one head.
/// q [Tq,d], k [Tk,d], v [Tk,d], mask [Tq,Tk] or empty -> context [Tq,d].  Throws Error(usage) if the widths differ.
template <class Scalar>
Matrix<Scalar> scaled_dot_product(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                  const Mask& mask);

// Backward

template <class Scalar>
struct DotProductGradients {
    Matrix<Scalar> q, k, v;  // [Tq,d], [Tk,d], [Tk,d_v]
    Matrix<Scalar> scores;   // [Tq,Tk], of what went into the softmax
};

/// scores = q k^T / divisor + (what does not depend on q and k), so with d_scores and d_v from context_backward
/// d_q = d_scores k / divisor,  d_k = d_scores^T q / divisor.
/// probs [Tq,Tk] as the softmax returned them; keep [Tq,Tk]: mask of the dropout, or empty; d_context [Tq,d_v].
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
