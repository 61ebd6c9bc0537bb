#pragma once
// From a row of logits to chances, and the words worth naming.
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// What is said where logits are NaN or infinite, so that the chances of all words are NaN.
inline constexpr const char* kNoRank = "The logits are not all numbers (NaN), so words cannot be ranked.";

/// Softmax of one row, in double: [V].
std::vector<double> chances_of(const Tensor<float>& logits, Index row);

/// Ids of the `count` largest, the largest first; equal ones in the order of their ids.
std::vector<std::int64_t> likeliest(const std::vector<double>& chances, std::size_t count);

}  // namespace locus
