#pragma once
// Relative attention of Transformer-XL, and of each stream of XLNet: forward, backward, and one cell step by step.
// Dai et al. 2019, section 3.3; Yang et al. 2019, sections 2.4 and 2.5; kimiyoung/transformer-xl mem_transformer.py;
// zihangdai/xlnet modeling.py.
//
//   A[i,j] =  q_i . k_j  +  q_i . r_k[i-j]  +  u . k_j  +  v . r_k[i-j]
//             a             b                  c           d
//
// The code adds them as ac = (q_i + u) . k_j and bd = (q_i + v) . r_k[i-j]; relative_shift.h puts bd at (i,j).
// Letters: M memory, T queries of the segment (P where they stand anywhere), K = M + T keys, R rows of positions (K;
// in XLNet K + T, or K + 1 where a query sees only keys to its left).
#include <vector>

#include "core/attention/relative_shift.h"
#include "core/attention/softmax.h"
#include "core/products.h"
#include "core/tensor.h"

namespace locus {

// Forward

/// Content term, raw: ac[i,j] = (q_i + u) . k_j, i.e. (a) + (c) of the paper.
/// q [T,d], u [d], k [K,d] -> [T,K].  Throws Error(usage) if widths differ.
template <class Scalar>
Matrix<Scalar> content_term(const ConstView<Scalar>& q, const RowVector<Scalar>& u, const ConstView<Scalar>& k);

/// Position term before the shift, raw: bd_raw[i,t] = (q_i + v) . r_k[t], i.e. (b) + (d), column t = row t of r_k.
/// q [T,d], v [d], r_k [R,d] -> [T,R].  Throws Error(usage) if widths differ.
template <class Scalar>
Matrix<Scalar> position_term(const ConstView<Scalar>& q, const RowVector<Scalar>& v, const ConstView<Scalar>& r_k);

/// The four terms by themselves, raw; (b) and (d) already stand at (i,j), cells whose distance has no row are 0.
template <class Scalar>
struct RelativeTerms {
    Matrix<Scalar> a, b, c, d;  // q_i . k_j, q_i . r_{i-j}, u . k_j, v . r_{i-j}; [T,K] each
};
/// q [T,d], k [K,d], r_k [R,d] with row 0 for the distance `first`, u, v [d].  Throws Error(usage) if widths differ or
/// K < T.
template <class Scalar>
RelativeTerms<Scalar> relative_terms(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                     const ConstView<Scalar>& r_k, const RowVector<Scalar>& u,
                                     const RowVector<Scalar>& v, Index first);

/// The four terms of absolute positions that they replace: (E_i + U_i) W_q^T . (E_j + U_j) W_k^T multiplied out.
/// content E, positions U [T,D]; W_q, W_k [d,D] -> a E.E, b E.U, c U.E, d U.U, [T,T] each (Dai et al. 2019,
/// section 3.3).  Throws Error(usage) if shapes do not fit.
template <class Scalar>
RelativeTerms<Scalar> absolute_terms(const ConstView<Scalar>& content, const ConstView<Scalar>& positions,
                                     const ConstView<Scalar>& w_q, const ConstView<Scalar>& w_k);

/// 1 = visible: j <= i + M, and with same_length also i + M - j < memory_length: the oldest key that a query sees is
/// memory_length - 1 tokens back.  -> [T, M + T].
Mask transformer_xl_mask(Index queries, Index memory, bool same_length, Index memory_length);

// Backward

/// What all queries of a head share.
template <class Scalar>
struct RelativeKeys {
    Matrix<Scalar> k, v;                            // [K,d], memory first
    Matrix<Scalar> r_k;                             // [R,d], projected sinusoids
    RowVector<Scalar> content_bias, position_bias;  // u and v of the paper, [d]
    Index first = 0;                                // distance of row 0 of r_k
    Index memory = 0;                               // M
};

/// The queries, and the probabilities that their forward pass computed.
template <class Scalar>
struct RelativeQueries {
    Matrix<Scalar> q;              // [P,d]
    std::vector<Index> positions;  // [P]: token of each query; -1: not used, its probs are 0.  Empty: 0 ... P - 1
    Matrix<Scalar> probs;          // [P,K], after the softmax and before dropout; hidden keys are 0
    Matrix<Scalar> keep;           // [P,K], 0 or 1 / (1 - p); empty: no dropout
};

/// Gradients, each of the shape of what it belongs to; those of r_k and the two biases are one sample's share.
template <class Scalar>
struct RelativeGradients {
    Matrix<Scalar> q, k, v, r_k;
    RowVector<Scalar> content_bias, position_bias;
    Matrix<Scalar> scores;  // [P,K], of the sum of the raw terms, before the division
};

/// scores_ij = ((q_i + u) . k_j + (q_i + v) . r_k[column of i - j]) / sqrt(d): terms (a) + (c) and (b) + (d).  With dS
/// from context_backward, divided by sqrt(d), and dB = dS shifted back (shift_back_by_index):
///   d_q = dS k + dB r_k,  content_bias (u): the sum of the rows of dS k,  position_bias (v): that of dB r_k,
///   d_k = dS^T (q + u),   d_r_k = dB^T (q + v).
/// The first M rows of d_k, and of the gradient of the values, belong to the memory: they reach the projections that
/// made them and stop there, because the memory itself is a constant.  d_context [P,d].  Throws Error(usage) that names
/// what does not fit. Checked against torch's autograd of kimiyoung/transformer-xl.
template <class Scalar>
RelativeGradients<Scalar> relative_backward(const RelativeKeys<Scalar>& keys, const RelativeQueries<Scalar>& queries,
                                            const ConstView<Scalar>& d_context);

// Explanation: why is this cell 0.617?  Transformer-XL's, or one stream of XLNet's with its segment term.

/// What one head is made of: stages and weights.
template <class Scalar>
struct RelativeHeadTensors {
    Matrix<Scalar> q, k;           // [P,d], [K,d], memory first
    Matrix<Scalar> r_k;            // [R,d]
    RowVector<Scalar> u, v;        // [d], r_w_bias and r_r_bias
    Index first = 0;               // distance of row 0 of r_k: K - 1 in Transformer-XL, K in XLNet
    Index memory = 0;              // M
    std::vector<Index> positions;  // token of the segment where each query stands
    Mask mask;                     // [P,K], 1 = visible
    MaskedRow masked_row = MaskedRow::zero;

    // The segment term of XLNet; empty: none.
    RowVector<Scalar> s;                           // [d], r_s_bias
    Matrix<Scalar> segments;                       // [2,d], row 0 same segment, row 1 another
    std::vector<std::int64_t> query_ids, key_ids;  // [P], [K]

    bool has_segments() const { return segments.size() > 0; }
};

template <class Scalar>
struct RelativeCellExplanation {
    Index i = 0, j = 0;  // row of q, column of k
    Index position = 0;  // where the query stands in its segment
    Index distance = 0;  // M + position - j
    Index row = -1;      // first - distance: row of r_k, column of bd_raw; -1: no such row, b and d and bd are 0
    bool other_segment = false;
    // The four terms of the paper, each by itself: q_i . k_j, q_i . r, u . k_j, v . r.
    TermExplanation<Scalar> a, b, c, d;
    // As the code adds them: (q_i + u) . k_j, (q_i + v) . r, (q_i + s) . segment row.  These give the score's bits.
    TermExplanation<Scalar> ac, bd, ef;
    Scalar counted_bd = 0;  // bd, or 0 where the mask hides the pair, as the stage has it
    Scalar sum = 0;         // ac + counted_bd + ef
    Scalar divisor = 1;     // sqrt(d)
    Scalar score = 0;
    SoftmaxSteps<Scalar> softmax;
};

/// Replays cell (i, j); ac, bd, ef, score and probability have exactly the bits of the stages, a b c d those of
/// relative_terms (asserted by tests).  Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
RelativeCellExplanation<Scalar> explain_relative_cell(const RelativeHeadTensors<Scalar>& head, Index i, Index j);

}  // namespace locus
