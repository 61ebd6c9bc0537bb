#pragma once
// Relative attention of Transformer-XL: four terms, memory, and the shift trick beside the index it stands for.
// Dai et al. 2019, section 3.3; kimiyoung/transformer-xl mem_transformer.py; spec 7.
// Letters: M memory, T queries of the segment, K = M + T keys, R rows of positions (K; K + T in XLNet).
#include <string>
#include <vector>

#include "core/attention/softmax.h"
#include "core/positions/relative_distances.h"
#include "core/tensor.h"

namespace locus {

/// Content term, raw: ac[i,j] = (q_i + u) . k_j, i.e. (a) + (c) of the paper.
/// q [T,d], u [d], k [K,d] -> [T,K].  Throws Error(usage) if widths differ.
template <class Scalar>
Matrix<Scalar> content_term(const ConstView<Scalar>& q, const RowVector<Scalar>& u, const ConstView<Scalar>& k);

/// Position term before the shift, raw: bd_raw[i,t] = (q_i + v) . r_k[t], i.e. (b) + (d), column t = row t of r_k.
/// q [T,d], v [d], r_k [R,d] -> [T,R].
template <class Scalar>
Matrix<Scalar> position_term(const ConstView<Scalar>& q, const RowVector<Scalar>& v, const ConstView<Scalar>& r_k);

/// The four terms by themselves, raw; (b) and (d) already stand at (i,j), cells whose distance has no row are 0.
template <class Scalar>
struct RelativeTerms {
    Matrix<Scalar> a, b, c, d;  // q_i . k_j, q_i . r_{i-j}, u . k_j, v . r_{i-j}; [T,K] each
};
/// q [T,d], k [K,d], r_k [R,d] with row 0 for the distance `first`, u, v [d].
template <class Scalar>
RelativeTerms<Scalar> relative_terms(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                     const ConstView<Scalar>& r_k, const RowVector<Scalar>& u,
                                     const RowVector<Scalar>& v, Index first);

/// The four terms of absolute positions that they replace: (E_i + U_i) W_q^T . (E_j + U_j) W_k^T multiplied out.
/// content E, positions U [T,D]; W_q, W_k [d,D] -> a E.E, b E.U, c U.E, d U.U, [T,T] each (spec 7.1).
template <class Scalar>
RelativeTerms<Scalar> absolute_terms(const ConstView<Scalar>& content, const ConstView<Scalar>& positions,
                                     const ConstView<Scalar>& w_q, const ConstView<Scalar>& w_k);

/// bd[i,j] = bd_raw[i, first - (M + i - j)], M = keys - T: every query reads the column of its distance; 0 where there
/// is no such column.  bd_raw [T,R] -> [T,keys].
template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first);

/// The same for queries that stand anywhere: row p belongs to the query at positions[p] of the segment; a position of
/// -1 (a target that is not used) gives a row of 0.  bd_raw [P,R] -> [P,keys].
template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions);

/// One step of a shift trick, as a picture of memory.
template <class Scalar>
struct ShiftFrame {
    std::string what;       // "a column of zeros on the left"
    Matrix<Scalar> values;  // as it lies in memory after the step
};

/// Transformer-XL's trick frame by frame: pad a zero column, read as [K+1,T], drop the first row, read as [T,K].
/// Equal to shift_by_index where j <= i + M; right of that it holds 0 and then values of the next row (spec 7.3).
/// bd_raw [T,K], K >= T.  The last frame is the result.
template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames(const ConstView<Scalar>& bd_raw);

/// XLNet's, without the zero column: read as [R,T], drop the first row, read as [T,R-1], take the first K columns.
/// bd_raw [T,R], R > keys.
template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames_xlnet(const ConstView<Scalar>& bd_raw, Index keys);

/// 1 = visible: j <= i + M; with same_length also no key older than `memory_length` before the newest one a query has
/// by itself (spec 7.4).  -> [T, M + T].
Mask transformer_xl_mask(Index queries, Index memory, bool same_length, Index memory_length);

}  // namespace locus
