#pragma once
// Matrix products of a training step, spread over threads.
#include <vector>

#include "core/fast/simd_kernels.h"
#include "core/fast/thread_pool.h"
#include "core/tensor.h"

namespace locus {

/// Memory for the products of one caller, kept from call to call.
template <class Scalar>
struct ProductBuffers {
    std::vector<Scalar> panels, turned;
};

/// How the operands lie in memory.
enum class Product {
    ab,   // a [n,m] b [m,p]: back through a dense layer, d_x = d_y W
    abt,  // a [n,m] b [p,m], b turned: a dense layer, y = x W^T
    atb,  // a [m,n] b [m,p], a turned: the gradient of its weight, d_W = d_y^T x
};

/// c [n,p] = or (add) += the product.  The same bits for every number of threads.  Throws Error(usage) if the shapes
/// do not fit.
template <class Scalar>
void multiply_blocks(Product product, const ConstView<Scalar>& a, const ConstView<Scalar>& b, bool add, View<Scalar> c,
                     ProductBuffers<Scalar>& buffers, ThreadPool& pool,
                     const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

}  // namespace locus
