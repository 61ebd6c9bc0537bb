#pragma once
// Attention with relative vectors on the key side and on the value side, every term by itself: forward and backward.
// Shaw et al. 2018, sections 3.1 (eq. 3 and 4) and 3.2 (clipped offsets).  DeBERTa kept the first idea and dropped the
// second. Unlike DeBERTa's buckets the offset is j - i, and a table has an odd number of rows, 2k + 1, so that -k and
// +k are both in it.  Used by lesson 27 and tests/golden/test_oracle_older.cpp (recorded from PyTorch).
#include <cstdint>

#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// Which row of a table serves the pair (i, j): clip(offset, -k, k) + k with offset = j - i -> 0 ... 2k.
/// Throws Error(usage) for a span k < 0.
Index shaw_row(std::int64_t offset, Index span);

/// The matrix of rows for all pairs -> [queries,keys].  Throws as shaw_row, and if queries or keys is below 1.
IndexTensor shaw_index(Index queries, Index keys, Index span);

/// k of a table of 2k + 1 rows.  Throws Error(usage) naming `what` if the number of rows is even.
Index shaw_span(const char* what, Index rows);

// Forward

/// Position scores, raw: q_i . a_k[row(j - i)].  q [Tq,d], a_k [2k+1,d] -> [Tq,keys].
/// Throws Error(usage) if the widths differ or the table has an even number of rows.
template <class Scalar>
Matrix<Scalar> shaw_position_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& a_k, Index keys);

/// Position context: sum over j of probs[i,j] a_v[row(j - i)].  probs [Tq,Tk], a_v [2k+1,d] -> [Tq,d].
/// Probabilities of keys that share a row are added first, so a long text costs 2k + 1 vectors per query.
/// Throws Error(usage) if the table has an even number of rows.
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

// Backward

template <class Scalar>
struct ShawGradients {
    Matrix<Scalar> q, k, v;   // [Tq,d], [Tk,d], [Tk,d]
    Matrix<Scalar> a_k, a_v;  // [2k+1,d], one head's share of tables that all heads read
    Matrix<Scalar> scores;    // [Tq,Tk], of the sum of the two raw terms, before the division
};

/// context_i = sum_j P_ij (v_j + a_v[row(j - i)]) and scores_ij = q_i . (k_j + a_k[row(j - i)]) / sqrt(d).  A row of a
/// table serves many pairs, so its gradient is the sum of theirs: with W[i,r] = sum of P_ij and G[i,r] = sum of dS_ij
/// over the pairs of row r = row(j - i),
///   d_v = P^T dO,  d_a_v = W^T dO,  dP_ij = dO_i . (v_j + a_v[row(j - i)]),  dS by softmax_backward / sqrt(d),
///   d_q = dS k + G a_k,  d_k = dS^T q,  d_a_k = G^T q.
/// A row that no pair addresses gets exactly 0.  probs [Tq,Tk] as the softmax returned them; keep [Tq,Tk]: mask of the
/// dropout (P above is probs times keep, element by element, and so is dP), or empty; d_context [Tq,d].
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
ShawGradients<Scalar> shaw_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                    const ConstView<Scalar>& a_k, const ConstView<Scalar>& a_v,
                                    const ConstView<Scalar>& probs, const ConstView<Scalar>& keep,
                                    const ConstView<Scalar>& d_context);

}  // namespace locus
