#pragma once
// From a row of logits to chances, and the words worth naming.
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Softmax of one row, in double: [V].
std::vector<double> chances_of(const Tensor<float>& logits, Index row);

/// Ids of the `count` largest, the largest first; equal ones in the order of their ids.
std::vector<std::int64_t> likeliest(const std::vector<double>& chances, std::size_t count);

}  // namespace locus
