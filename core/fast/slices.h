#pragma once
// From the table "every vector against every row of the relative table" to scores, without gathering, and back.
// Row delta(i,j) depends on i - j alone and mostly rises by one with it, so what looks like a gather is a handful of
// contiguous slices per row of the scores: one per run of the buckets (performance notes in tests/bench).
// The same sums as the gather in core/attention/disentangled.cpp; the additions give its bits (asserted by tests).
#include <vector>

#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// A stretch of neighbouring offsets whose rows all are the same (step 0) or rise by one per offset (step 1).
struct OffsetRun {
    Index first_offset;  // i - j
    Index length;
    Index first_row;
    Index step;  // 0 or 1
};

/// All offsets of the buckets cut into runs, in rising order.
std::vector<OffsetRun> offset_runs(const RelativeBuckets& buckets);

/// scores[i,j] += table[i, buckets.row(i,j)], from the table with its columns in reverse order, because row numbers
/// fall while j rises: `reversed` [Tq,2k], reversed(i, 2k - 1 - r) = table(i, r); buckets of Tq x Tk pairs; scores
/// [Tq,Tk]. Throws Error(usage) if the table or the scores do not fit the buckets.
template <class Scalar>
void add_slices_by_query(const ConstView<Scalar>& reversed, const RelativeBuckets& buckets, View<Scalar> scores);

/// scores[i,j] += table[j, buckets.row(i,j)]: table [Tk,2k], buckets of Tq x Tk pairs; scores [Tq,Tk].
/// Throws Error(usage) if the table or the scores do not fit the buckets.
template <class Scalar>
void add_slices_by_key(const ConstView<Scalar>& table, const RelativeBuckets& buckets, View<Scalar> scores);

// Backward: what was read from one place of a table comes back to it as a sum.

/// table[i, buckets.row(i,j)] += scores[i,j]: the transpose of add_slices_by_query with the table not reversed.
/// scores [Tq,Tk], buckets of Tq x Tk pairs -> [Tq,2k]; a table row that no pair reads stays exactly 0.
/// Throws Error(usage) if the scores do not fit the buckets.
template <class Scalar>
Matrix<Scalar> scatter_slices_by_query(const ConstView<Scalar>& scores, const RelativeBuckets& buckets);

/// table[j, buckets.row(i,j)] += scores[i,j]: the transpose of add_slices_by_key.   scores [Tq,Tk] -> [Tk,2k].
template <class Scalar>
Matrix<Scalar> scatter_slices_by_key(const ConstView<Scalar>& scores, const RelativeBuckets& buckets);

}  // namespace locus
