#pragma once
// The table of compiled backward kernels of one number format; only .cu files include this.
#include "cuda/device.h"

#include "cuda/device_block.h"
#include "cuda/fused/fused_backward.h"
#include "cuda/fused/table_gradients.h"

namespace locus::cuda {

template <class Scalar, int width, int tile_outer, int tile_inner, bool around_keys>
__global__ void __launch_bounds__(4 * tile_outer, 1)
    fused_backward_kernel(const __grid_constant__ BackwardArguments<Scalar> args, int capacity) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<BackwardLane<width, tile_inner, around_keys>>;
    Block block(memory);
    FusedBackward<Scalar, width, tile_outer, tile_inner, around_keys, Block>(
        block, args, capacity, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z))
        .run();
}

template <class Scalar, int width, bool around_keys>
__global__ void __launch_bounds__(128) table_gradients_kernel(const __grid_constant__ BackwardArguments<Scalar> args) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<TableLane<width>>;
    Block block(memory);
    TableGradients<Scalar, width, around_keys, Block>(block, args, static_cast<int>(blockIdx.x),
                                                      static_cast<int>(blockIdx.y))
        .run();
}

/// One kernel around queries or keys, the one that follows it, and what they need.
template <class Scalar>
struct BackwardKernel {
    int width, tile_outer, tile_inner;
    bool around_keys;
    void (*run)(const BackwardArguments<Scalar>, int);
    void (*run_tables)(const BackwardArguments<Scalar>);
    int table_bytes;

    int outer(const BackwardArguments<Scalar>& args) const {
        return around_keys ? args.forward.keys : args.forward.queries;
    }
    int capacity(const BackwardArguments<Scalar>& args) const {
        const int inner = around_keys ? args.forward.queries : args.forward.keys;
        return smaller(args.forward.table_rows, tile_outer + inner - 1);
    }
    int bytes(const BackwardArguments<Scalar>& args) const {
        const bool c2p = args.forward.k_r != nullptr, p2c = args.forward.q_r != nullptr;
        return BackwardLayout::of(tile_outer, tile_inner, width, capacity(args), around_keys, around_keys ? p2c : c2p,
                                  around_keys ? c2p : p2c)
            .bytes;
    }
    int threads() const { return 4 * tile_outer; }
    std::string tile() const { return std::to_string(tile_outer) + " x " + std::to_string(tile_inner); }
};

template <class Scalar, int width, int tile_outer, int tile_inner, bool around_keys>
constexpr BackwardKernel<Scalar> backward_kernel() {
    return {width,
            tile_outer,
            tile_inner,
            around_keys,
            fused_backward_kernel<Scalar, width, tile_outer, tile_inner, around_keys>,
            table_gradients_kernel<Scalar, width, around_keys>,
            TableGradients<Scalar, width, around_keys, DeviceBlock<TableLane<width>>>::bytes()};
}

/// Of every width, the largest tile first.
template <class Scalar>
const std::vector<BackwardKernel<Scalar>>& backward_kernels();

/// The tiles that are compiled for every format.
template <class Scalar>
std::vector<BackwardKernel<Scalar>> compiled_backward_kernels() {
    return {backward_kernel<Scalar, 32, 64, 64, false>(),  backward_kernel<Scalar, 32, 64, 64, true>(),
            backward_kernel<Scalar, 64, 64, 64, false>(),  backward_kernel<Scalar, 64, 64, 64, true>(),
            backward_kernel<Scalar, 64, 32, 32, false>(),  backward_kernel<Scalar, 64, 32, 32, true>(),
            backward_kernel<Scalar, 128, 64, 32, false>(), backward_kernel<Scalar, 128, 64, 32, true>(),
            backward_kernel<Scalar, 128, 32, 32, false>(), backward_kernel<Scalar, 128, 32, 32, true>()};
}

}  // namespace locus::cuda
