#pragma once
// The shift of relative attention: from a column per distance to a column per key.  The index form is the definition;
// the published codes do the same by padding and reshaping, which is shown here frame by frame.
// Dai et al. 2019, appendix B; kimiyoung/transformer-xl mem_transformer.py _rel_shift; zihangdai/xlnet modeling.py
// rel_shift.
// Letters: M memory, T queries of the segment, P queries anywhere, K = M + T keys, R rows of positions.
#include <string>
#include <vector>

#include "core/positions/position_rows.h"
#include "core/tensor.h"

namespace locus {

/// bd[i,j] = bd_raw[i, first - (M + i - j)], M = keys - T: every query reads the column of its distance; 0 where there
/// is no such column.  bd_raw [T,R] -> [T,keys].  Throws Error(usage) for fewer keys than queries.
template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first);

/// The same for queries that stand anywhere: row p belongs to the query at positions[p] of the segment; a position of
/// -1 (a target that is not used) gives a row of 0.  bd_raw [P,R] -> [P,keys].
/// Throws Error(usage) unless there is one position per query.
template <class Scalar>
Matrix<Scalar> shift_by_index(const ConstView<Scalar>& bd_raw, Index keys, Index first, Index memory,
                              const std::vector<Index>& positions);

/// The inverse of shift_by_index and its gradient: cell (p,j) goes back to the column that it was read from.
/// d_bd [P,K] -> [P,columns]; columns that no key read stay exactly 0.  Throws Error(usage) unless there is one
/// position per query.
template <class Scalar>
Matrix<Scalar> shift_back_by_index(const ConstView<Scalar>& d_bd, Index columns, Index first, Index memory,
                                   const std::vector<Index>& positions);

/// One step of a shift trick, as a picture of memory.
template <class Scalar>
struct ShiftFrame {
    std::string what;       // "a column of zeros on the left"
    Matrix<Scalar> values;  // as it lies in memory after the step
};

/// Transformer-XL's trick frame by frame: pad a zero column, read as [K+1,T], drop the first row, read as [T,K].
/// Equal to shift_by_index where j <= i + M; right of that it holds 0 and then values of the next row.
/// bd_raw [T,K], K >= T >= 1; throws Error(usage) otherwise.  The last frame is the result.
template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames(const ConstView<Scalar>& bd_raw);

/// XLNet's, without the zero column: read as [R,T], drop the first row, read as [T,R-1], take the first K columns.
/// bd_raw [T,R], R > K, K >= T >= 1.  Throws Error(usage) otherwise.
template <class Scalar>
std::vector<ShiftFrame<Scalar>> shift_frames_xlnet(const ConstView<Scalar>& bd_raw, Index keys);

/// Where a number stood before a shift trick moved it.
struct ShiftSource {
    Index place = 0;            // cells before it in memory, the first row, which is dropped, among them
    Index row = 0, column = 0;  // of bd_raw; column -1: a zero of the padding
};
/// Transformer-XL's trick: cell (i, j) of [T,K] was read from here.  Throws Error(usage) outside.
ShiftSource shift_source(Index queries, Index keys, Index i, Index j);
/// XLNet's, for bd_raw [T,R] and the first K < R columns of the result.  Throws Error(usage) outside, or unless K < R.
ShiftSource shift_source_xlnet(Index queries, Index rows, Index keys, Index i, Index j);

}  // namespace locus
