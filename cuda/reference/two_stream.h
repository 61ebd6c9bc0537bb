#pragma once
// The GPU twin of the segment term of core/attention/two_stream.h.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/attention/two_stream.h"

namespace locus::cuda {

/// ef[i,j] = (q_i + s) . segments[differs(i,j)].  q [T,d], s [d], segments [2,d], ids of T queries and K keys -> [T,K].
template <class Scalar>
Matrix<Scalar> segment_term(const Matrix<Scalar>& q, const RowVector<Scalar>& s, const Matrix<Scalar>& segments,
                            const std::vector<std::int64_t>& query_ids, const std::vector<std::int64_t>& key_ids);

}  // namespace locus::cuda
