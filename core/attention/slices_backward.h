#pragma once
// The slices of slices.h backwards: what was read from one place of a table comes back to it as a sum.
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// table[i, line.row(i,j)] += scores[i,j]: the transpose of add_slices_by_query with the table the right way round.
/// scores [Tq,Tk], line of Tq x Tk pairs -> [Tq,2k]; a row of the line that no pair has stays exactly 0.
/// Throws Error(usage) if the scores do not fit the line.
template <class Scalar>
Matrix<Scalar> scatter_slices_by_query(const ConstView<Scalar>& scores, const RelativeBuckets& line);

/// table[j, line.row(i,j)] += scores[i,j]: the transpose of add_slices_by_key.   scores [Tq,Tk] -> [Tk,2k].
template <class Scalar>
Matrix<Scalar> scatter_slices_by_key(const ConstView<Scalar>& scores, const RelativeBuckets& line);

}  // namespace locus
