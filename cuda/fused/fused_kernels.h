#pragma once
// The table of compiled forward kernels of one number format; only .cu files include this.
#include "cuda/device.h"

#include "cuda/device_block.h"
#include "cuda/fused/fused_forward.h"

namespace locus::cuda {

/// How many blocks a multiprocessor has to hold; 0: as the compiler thinks.  Of small blocks it thinks that there will
/// be more than their shared memory leaves room for, and gives them too few registers.
constexpr int blocks_together(int width, int tile_queries) {
    return tile_queries == 32 ? 4 : width == 32 && tile_queries == 64 ? 3 : 0;
}

template <class Scalar, int width, int tile_queries, int tile_keys>
__global__ void __launch_bounds__(2 * tile_queries, blocks_together(width, tile_queries))
    fused_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args, int capacity) {
    extern __shared__ __align__(16) unsigned char memory[];
    using Block = DeviceBlock<ForwardLane<width, tile_keys>>;
    Block block(memory);
    FusedForward<Scalar, width, tile_queries, tile_keys, Block>(
        block, args, capacity, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z))
        .run();
}

/// One kernel and what it needs.
template <class Scalar>
struct ForwardKernel {
    int width, tile_queries, tile_keys;
    void (*run)(const ForwardArguments<Scalar>, int);

    int capacity(const ForwardArguments<Scalar>& args) const {
        return smaller(args.table_rows, tile_queries + args.keys - 1);
    }
    int bytes(const ForwardArguments<Scalar>& args) const {
        return ForwardLayout::of(tile_queries, tile_keys, width, capacity(args), args.k_r, args.q_r).bytes;
    }
    int threads() const { return 2 * tile_queries; }
    std::string tile() const { return std::to_string(tile_queries) + " x " + std::to_string(tile_keys); }
};

template <class Scalar, int width, int tile_queries, int tile_keys>
constexpr ForwardKernel<Scalar> forward_kernel() {
    return {width, tile_queries, tile_keys, fused_forward_kernel<Scalar, width, tile_queries, tile_keys>};
}

/// Of every width, the largest tile first.
template <class Scalar>
const std::vector<ForwardKernel<Scalar>>& forward_kernels();

}  // namespace locus::cuda
