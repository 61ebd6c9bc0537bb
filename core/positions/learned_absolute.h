#pragma once
// Learned absolute positions: one trained row per position, and nothing beyond the last.
// Devlin et al. 2019 (BERT), section 3; x = E_word[token] + E_pos[position] + E_type[type].
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// The rows of positions first ... first + count - 1: table [P,D] -> [count,D].
/// Throws Error(unsupported) for a position past the table, which no checkpoint can answer, and Error(usage) for a
/// negative one.
template <class Scalar>
Matrix<Scalar> learned_rows(const ConstView<Scalar>& table, Index count, Index first = 0);

/// One row per position, in this order and as often as asked: table [P,D], positions [N] -> [N,D].  Throws as above.
template <class Scalar>
Matrix<Scalar> learned_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& positions);

}  // namespace locus
