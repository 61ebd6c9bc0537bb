#pragma once
// From the table "every vector against every row of the relative table" to scores, without gathering.
// Row delta(i,j) depends on i - j alone and mostly rises by one with it, so what looks like a gather is a handful of
// contiguous slices per line of the scores: one per run of the bucket line (performance notes in tests/bench).
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// scores[i,j] += table[i, line.row(i,j)], from the table with its columns in reverse order, because row numbers fall
/// while j rises: `reversed` [Tq,2k], reversed(i, 2k - 1 - r) = table(i, r); line of Tq x Tk pairs; scores [Tq,Tk].
/// Throws if the table or the scores do not fit the line.
template <class Scalar>
void add_slices_by_query(const ConstView<Scalar>& reversed, const RelativeBuckets& line, View<Scalar> scores);

/// scores[i,j] += table[j, line.row(i,j)]: table [Tk,2k], line of Tq x Tk pairs; scores [Tq,Tk].
/// Throws if the table or the scores do not fit the line.
template <class Scalar>
void add_slices_by_key(const ConstView<Scalar>& table, const RelativeBuckets& line, View<Scalar> scores);

}  // namespace locus
