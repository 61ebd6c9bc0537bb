#pragma once
// Whole models on the device: what `locus trace --device cuda` hands to a pass.
#include "core/models/operations.h"

namespace locus::cuda {

/// The twins of every operation of a pass; lives as long as the program.  Float32 is float32: no TF32, no fused
/// multiply-add.  Throws Error(unsupported) in one sentence where no device answers.
template <class Scalar>
const Operations<Scalar>& device_operations();

}  // namespace locus::cuda
