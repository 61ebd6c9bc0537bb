#pragma once
// Relative attention of Transformer-XL backwards; each stream of XLNet is one too (two_stream_backward.h).
// Dai et al. 2019, section 3.3; spec 7 and 9.2.  M memory, K = M + T keys, P queries, R rows of positions.
#include <vector>

#include "core/attention/relative.h"

namespace locus {

/// What all queries of a head share.
template <class Scalar>
struct RelativeKeys {
    Matrix<Scalar> k, v;                            // [K,d], memory first
    Matrix<Scalar> r_k;                             // [R,d], projected sinusoids
    RowVector<Scalar> content_bias, position_bias;  // u and v of the paper, [d]
    Index first = 0;                                // distance of row 0 of r_k
    Index memory = 0;                               // M
};

/// The queries, and what their forward pass left behind.
template <class Scalar>
struct RelativeQueries {
    Matrix<Scalar> q;              // [P,d]
    std::vector<Index> positions;  // [P]: token of each query; -1: not used, its probs are 0.  Empty: 0 ... P - 1
    Matrix<Scalar> probs;          // [P,K], after the softmax and before dropout; hidden keys are 0
    Matrix<Scalar> keep;           // [P,K], 0 or 1 / (1 - share); empty: no dropout
};

/// Gradients, each of the shape of what it belongs to; those of r_k and the two biases are one sample's share.
template <class Scalar>
struct RelativeGradients {
    Matrix<Scalar> q, k, v, r_k;
    RowVector<Scalar> content_bias, position_bias;
    Matrix<Scalar> scores;  // [P,K], of the sum of the raw terms, before the division
};

/// The inverse of shift_by_index: what column distance_column(first, memory, i, j) gave to cell (p,j) goes back there.
/// d_bd [P,K] -> [P,columns]; columns that no key read stay exactly 0.  Throws Error(usage) unless there is one
/// position per query.
template <class Scalar>
Matrix<Scalar> shift_back_by_index(const ConstView<Scalar>& d_bd, Index columns, Index first, Index memory,
                                   const std::vector<Index>& positions);

/// scores_ij = ((q_i + u) . k_j + (q_i + v) . r_k[column of i - j]) / sqrt(d): terms (a) + (c) and (b) + (d).  With dS
/// from context_backward, divided by sqrt(d), and dB = dS shifted back:
///   d_q = dS k + dB r_k,  d_u = the sum of the rows of dS k,  d_v = the sum of the rows of dB r_k,
///   d_k = dS^T (q + u),   d_r_k = dB^T (q + v).
/// The first M rows of d_k and d_v belong to the memory: they reach the projections that made them and stop there,
/// because the memory itself is a constant.  d_context [P,d].  Throws Error(usage) that names what does not fit.
/// Checked against torch's autograd of kimiyoung/transformer-xl.
template <class Scalar>
RelativeGradients<Scalar> relative_backward(const RelativeKeys<Scalar>& keys, const RelativeQueries<Scalar>& queries,
                                            const ConstView<Scalar>& d_context);

}  // namespace locus
