#pragma once
// Attention with relative vectors on both sides backwards.  Shaw et al. 2018, eq. 3 and 4.
#include "core/attention/shaw.h"

namespace locus {

template <class Scalar>
struct ShawGradients {
    Matrix<Scalar> q, k, v;   // [Tq,d], [Tk,d], [Tk,d]
    Matrix<Scalar> a_k, a_v;  // [2k+1,d], one head's share of tables that all heads read
    Matrix<Scalar> scores;    // [Tq,Tk], of the sum of the two raw terms, before the division
};

/// context_i = sum_j P_ij (v_j + a_v[row(j - i)]) and scores_ij = q_i . (k_j + a_k[row(j - i)]) / sqrt(d).  What a row
/// of a table gave to many pairs it gets back from all: with W[i,r] = sum of P_ij and G[i,r] = sum of dS_ij over the
/// pairs of row r = row(j - i),
///   d_v = P^T dO,  d_a_v = W^T dO,  dP_ij = dO_i . (v_j + a_v[row(j - i)]),  dS by softmax_backward / sqrt(d),
///   d_q = dS k + G a_k,  d_k = dS^T q,  d_a_k = G^T q.
/// A row that no pair addresses gets exactly 0.  probs [Tq,Tk] as the softmax left them; keep [Tq,Tk]: mask of the
/// dropout (P above is probs keep, dP is multiplied by it), or empty; d_context [Tq,d].
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
ShawGradients<Scalar> shaw_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                    const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v,
                                    const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                    const ConstView<Scalar>& d_context);

}  // namespace locus
