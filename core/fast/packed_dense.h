#pragma once
// Dense layers for speed: the weight laid out once in the order the inner loop reads it.
#include <vector>

#include "core/fast/simd_kernels.h"
#include "core/fast/thread_pool.h"
#include "core/models/layers.h"

namespace locus {

/// y = x weight^T + bias, of one or several layers with the same input side by side.
template <class Scalar>
struct PackedDense {
    Index in = 0, out = 0;
    std::vector<Scalar> panels;  // [out / kSimdBlock, in, kSimdBlock], zeros behind the last output
    std::vector<Scalar> bias;    // [out] padded, zeros where a layer has none
};

/// The outputs of the layers one behind the other.  Throws if the inputs differ in width.
template <class Scalar>
PackedDense<Scalar> pack_dense(const std::vector<const Dense<Scalar>*>& layers,
                               const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

/// x [N,in] -> out [N,out], which is sized here, with the activation where there is one.  The same bits for every
/// number of threads.  Throws if the widths differ.
template <class Scalar>
void dense_blocks(const ConstView<Scalar>& x, const PackedDense<Scalar>& layer, const Activation* activation,
                  Matrix<Scalar>& out, ThreadPool& pool,
                  const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

}  // namespace locus
