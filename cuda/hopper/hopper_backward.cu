// The Hopper backward kernels; compiled for sm_90a alone.
#include "cuda/hopper/hopper_backward.h"

#include "cuda/hopper/hopper_backward_kernels.h"
#include "cuda/hopper/hopper_block.h"

namespace locus::cuda {

namespace {

template <class Scalar, int width, int tile_outer, bool around_keys>
__global__ void __launch_bounds__(2 * tile_outer, 1)
    hopper_backward_kernel(const __grid_constant__ BackwardArguments<Scalar> args,
                           const __grid_constant__ HopperBackwardMaps maps, int capacity) {
    extern __shared__ __align__(1024) unsigned char memory[];
    using Block = HopperBlock<HopperBackwardLane<width, around_keys>, 2 * tile_outer, HopperRole::all>;
    Block block(memory);
    const int tokens = around_keys ? args.forward.keys : args.forward.queries;
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, tokens, tile_outer);
    HopperBackward<Scalar, width, tile_outer, around_keys, Block>(block, args, maps, capacity, at.tile, at.head,
                                                                  at.sample)
        .run();
}

template <class Scalar, int width, int tile_outer, bool around_keys>
constexpr HopperBackwardKernel<Scalar> kernel() {
    return {width, tile_outer, around_keys, hopper_backward_kernel<Scalar, width, tile_outer, around_keys>};
}

}  // namespace

template <class Scalar>
const std::vector<HopperBackwardKernel<Scalar>>& hopper_backward_kernels() {
    static const std::vector<HopperBackwardKernel<Scalar>> kernels = {
        kernel<Scalar, 64, 128, false>(), kernel<Scalar, 64, 128, true>(), kernel<Scalar, 64, 64, false>(),
        kernel<Scalar, 64, 64, true>()};
    return kernels;
}

template const std::vector<HopperBackwardKernel<Half>>& hopper_backward_kernels<Half>();
template const std::vector<HopperBackwardKernel<Bfloat16>>& hopper_backward_kernels<Bfloat16>();

}  // namespace locus::cuda
