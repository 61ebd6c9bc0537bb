#pragma once
// The GPU twin of embedding rows, core/positions/position_rows.h.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/positions/position_rows.h"

namespace locus::cuda {

/// One row per position, in this order and as often as asked: table [P,D], positions [N] -> [N,D].
template <class Scalar>
Matrix<Scalar> learned_rows(const Matrix<Scalar>& table, const std::vector<std::int64_t>& positions);

}  // namespace locus::cuda
