#pragma once
// What a head has learnt of distance: its content vectors times its rows of the relative table.
#include <vector>

#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// contents [T,d] times the row of every offset d = i - j from -reach to reach, table [2k,d]: [T, 2 reach + 1].
/// With q and k_r that is q_t . k_r[delta(d)], with k and q_r it is k_t . q_r[delta(d)]: what the pair would add to the
/// score, whether the sentence has such a pair or not.
/// Throws Error(usage) if the shapes or the line's offsets do not reach so far.
Matrix<float> distance_products(const ConstView<float>& contents, const ConstView<float>& table,
                                const RelativeBuckets& line, Index reach);

/// The mean over rows, in double: [cols].  NaN without rows.
std::vector<double> mean_of_rows(const ConstView<float>& values);

}  // namespace locus
