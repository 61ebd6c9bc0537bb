#pragma once
// The GPU twins of core/attention/relative.h, by direct indexing.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/attention/relative.h"

namespace locus::cuda {

/// ac[i,j] = (q_i + u) . k_j.  q [T,d], u [d], k [K,d] -> [T,K].
template <class Scalar>
Matrix<Scalar> content_term(const Matrix<Scalar>& q, const RowVector<Scalar>& u, const Matrix<Scalar>& k);

/// bd_raw[i,t] = (q_i + v) . r_k[t].  q [T,d], v [d], r_k [R,d] -> [T,R].
template <class Scalar>
Matrix<Scalar> position_term(const Matrix<Scalar>& q, const RowVector<Scalar>& v, const Matrix<Scalar>& r_k);

/// bd[p,j] = bd_raw[p, first - (M + i - j)] for the query at i = positions[p] (-1: a row of 0); 0 where there is no
/// such column.  bd_raw [P,R] -> [P,keys].
template <class Scalar>
Matrix<Scalar> shift_by_index(const Matrix<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions);

/// (a) to (d) by themselves, [T,K] each; b and d read the row of r_k [R,d] that stands for the distance M + i - j.
template <class Scalar>
RelativeTerms<Scalar> relative_terms(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& r_k,
                                     const RowVector<Scalar>& u, const RowVector<Scalar>& v, Index first);

}  // namespace locus::cuda
