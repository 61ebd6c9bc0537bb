#pragma once
// The table of compiled Hopper forward kernels of one number format; only .cu files include this.
#include "cuda/device.h"

#include <string>
#include <vector>

#include "cuda/hopper/hopper_block.h"
#include "cuda/hopper/hopper_forward.h"

namespace locus::cuda {

using HopperMaps = ForwardMaps<CUtensorMap>;

template <class Scalar, int width, int tile_queries>
__global__ void __launch_bounds__(2 * tile_queries, 1)
    hopper_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args,
                          const __grid_constant__ HopperMaps maps, int capacity) {
    extern __shared__ __align__(1024) unsigned char memory[];
    using Block = HopperBlock<HopperLane<width>>;
    Block block(memory);
    HopperForward<Scalar, width, tile_queries, Block>(block, args, maps, capacity, static_cast<int>(blockIdx.x),
                                                      static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z))
        .run();
}

/// One kernel and what it needs.
template <class Scalar>
struct HopperKernel {
    int width, tile_queries;
    void (*run)(const ForwardArguments<Scalar>, const HopperMaps, int);

    int capacity(const ForwardArguments<Scalar>& args) const {
        return smaller(args.table_rows, tile_queries + args.keys - 1);
    }
    int bytes(const ForwardArguments<Scalar>& args) const {
        return HopperLayout::of(tile_queries, width, capacity(args), args.k_r, args.q_r).bytes;
    }
    int threads() const { return 2 * tile_queries; }
    std::string tile() const { return std::to_string(tile_queries) + " x " + std::to_string(HopperLayout::kTileKeys); }
};

template <class Scalar, int width, int tile_queries>
constexpr HopperKernel<Scalar> hopper_kernel() {
    return {width, tile_queries, hopper_forward_kernel<Scalar, width, tile_queries>};
}

/// Of every width, the largest tile first.
template <class Scalar>
const std::vector<HopperKernel<Scalar>>& hopper_kernels();

}  // namespace locus::cuda
