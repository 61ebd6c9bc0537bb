#pragma once
// Tensor maps for the copy engine, made by the driver; only .cu files include this.
#include "cuda/device.h"

#include <cuda.h>

#include "cuda/encoder/rows_map.h"

namespace locus::cuda {

/// Boxes of 64 rows and 64 channels, exchanged as hopper_operands.h says, zeros for what lies outside of `rows`.
/// numbers: CU_TENSOR_MAP_DATA_TYPE_FLOAT16 or _BFLOAT16.
/// Throws Error(unsupported) in one sentence if the driver knows no tensor maps or refuses this one.
CUtensorMap tensor_map(const RowsMap& rows, CUtensorMapDataType numbers);

}  // namespace locus::cuda
