#pragma once
// Attention with a bias per offset backwards: T5 and ALiBi.  Raffel et al. 2020, section 2.1; Press et al. 2022.
#include "core/attention/biased.h"

namespace locus {

template <class Scalar>
struct BiasedGradients {
    Matrix<Scalar> q, k, v;  // [Tq,d], [Tk,d], [Tk,d_v]
    RowVector<Scalar> bias;  // [Tq + Tk - 1], of this head's row of the line, offset j - i = -(Tq - 1) first
};

/// scores_ij = (q_i . k_j) scale + b[j - i], scale 1 or 1 / sqrt(d), so q and k get what dot_product_backward says and
/// d_b[o] = the sum of d_scores over the diagonal j - i = o: every pair of one offset read the same number.
/// probs [Tq,Tk] as the softmax left them; keep [Tq,Tk]: mask of the dropout, or empty; d_context [Tq,d_v].
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
BiasedGradients<Scalar> biased_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const ConstView<Scalar>& v, ContentScale scale, const ConstView<Scalar>& probs,
                                        const ConstView<Scalar>& keep, const ConstView<Scalar>& d_context);

}  // namespace locus
