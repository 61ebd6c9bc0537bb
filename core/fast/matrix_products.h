#pragma once
// Matrix products of the fast path, spread over threads: one operand is laid out in the order in which the inner loop
// reads it, once for a weight that many texts pass (PackedDense), anew for each product of a training step
// (multiply_blocks).  The same bits for every number of threads.
#include <vector>

#include "core/fast/aligned_rows.h"
#include "core/fast/simd_kernels.h"
#include "core/fast/thread_pool.h"
#include "core/tensor.h"

namespace locus {

/// The right operand b [depth,cols] of a product as panels of as many columns as the registers take at once:
/// [cols / width, depth, width].  What stands after the last column is never looked at.
template <class Scalar>
struct Panels {
    Index depth = 0, cols = 0, width = kSimdBlock;  // width divides kSimdBlock
    AlignedVector<Scalar> values;

    /// Groups of kSimdBlock columns, the last one padded: so much is laid out.
    Index groups() const { return (cols + kSimdBlock - 1) / kSimdBlock; }
    /// The panel that begins with this column, a multiple of `width`.
    const Scalar* at(Index column) const { return values.data() + column * depth; }
};

/// Memory for the products of one caller, kept from call to call.
template <class Scalar>
struct ProductBuffers {
    Panels<Scalar> panels;
    std::vector<Scalar> transposed;
};

/// How the operands lie in memory.
enum class Product {
    ab,   // a [n,m] b [m,p]: backward through a dense layer, d_x = d_y W
    abt,  // a [n,m] b [p,m], b transposed: a dense layer, y = x W^T
    atb,  // a [m,n] b [m,p], a transposed: the gradient of its weight, d_W = d_y^T x
};

/// c [n,p] = or (add) += the product.  Throws Error(usage) if the shapes do not fit.
template <class Scalar>
void multiply_blocks(Product product, const ConstView<Scalar>& a, const ConstView<Scalar>& b, bool add, View<Scalar> c,
                     ProductBuffers<Scalar>& buffers, ThreadPool& pool,
                     const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

/// A dense layer as checkpoints store it.
template <class Scalar>
struct StoredDense {
    const Matrix<Scalar>& weight;   // [out,in]
    const RowVector<Scalar>& bias;  // [out], or empty where the layer has none
};

/// y = x weight^T + bias, of one or several layers with the same input side by side.
template <class Scalar>
struct PackedDense {
    Panels<Scalar> weight;     // transposed: [in,out]
    std::vector<Scalar> bias;  // [out], zeros where a layer has none
};

/// The outputs of the layers one after the other.  Throws Error(usage) if the inputs differ in width.
template <class Scalar>
PackedDense<Scalar> pack_dense(const std::vector<StoredDense<Scalar>>& layers, ThreadPool& pool,
                               const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

/// What follows a dense layer while its outputs are still in the cache.
enum class Following { nothing, gelu };

/// x [N,in] -> y [N,out].  Throws Error(usage) if the shapes do not fit.
template <class Scalar>
void dense_blocks(const ConstView<Scalar>& x, const PackedDense<Scalar>& layer, Following following, View<Scalar> y,
                  ThreadPool& pool, const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

}  // namespace locus
