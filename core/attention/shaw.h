#pragma once
// Attention with relative vectors on the key side and on the value side, every term by itself.
// Shaw et al. 2018, eq. 3 and 4.  Used by lesson 27 (the scores) and by the tests (all of it).  DeBERTa kept the first
// idea and dropped the second.
#include "core/attention/softmax.h"
#include "core/positions/shaw.h"
#include "core/tensor.h"

namespace locus {

/// Position scores, raw: q_i . a_k[row(j - i)].  q [Tq,d], a_k [2k+1,d] -> [Tq,keys].
/// Every query meets every row of the table once; the scores pick from those products.
/// Throws Error(usage) if the widths differ or the table has an even number of rows.
template <class Scalar>
Matrix<Scalar> shaw_position_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& a_k, Index keys);

/// Position context: sum over j of probs[i,j] a_v[row(j - i)].  probs [Tq,Tk], a_v [2k+1,d] -> [Tq,d].
/// Probabilities of keys that share a row are added first, so a long text costs 2k + 1 vectors per query.
template <class Scalar>
Matrix<Scalar> shaw_position_context(const ConstView<Scalar>& probs, const ConstView<Scalar>& a_v);

template <class Scalar>
struct ShawTerms {
    Matrix<Scalar> content_scores, position_scores;    // raw: q_i . k_j and q_i . a_k[row]; [Tq,Tk]
    Matrix<Scalar> scores;                             // their sum / sqrt(d), before the mask
    Matrix<Scalar> probs;                              // masked cells exactly 0
    Matrix<Scalar> content_context, position_context;  // sum_j P_ij v_j and sum_j P_ij a_v[row]; [Tq,d]
    Matrix<Scalar> context;                            // their sum
};

/// One head.  The two tables [2k+1,d] are shared over heads in the paper.
/// q [Tq,d], k and v [Tk,d], mask [Tq,Tk] or empty.  Throws Error(usage) if keys and values differ in number, widths
/// differ, or the tables do.
template <class Scalar>
ShawTerms<Scalar> shaw_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                 const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v, const Mask& mask);

}  // namespace locus
