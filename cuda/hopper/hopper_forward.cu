// The Hopper forward kernels; compiled for sm_90a alone.
#include "cuda/hopper/hopper_forward.h"

#include "cuda/hopper/hopper_block.h"
#include "cuda/hopper/hopper_kernels.h"

namespace locus::cuda {

namespace {

template <class Scalar, int width, int tile_queries>
__global__ void __launch_bounds__(2 * tile_queries, 1)
    hopper_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args,
                          const __grid_constant__ HopperMaps maps, int capacity) {
    extern __shared__ __align__(1024) unsigned char memory[];
    using Block = HopperBlock<HopperLane<width>>;
    Block block(memory);
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, args.queries, tile_queries);
    HopperForward<Scalar, width, tile_queries, Block>(block, args, maps, capacity, at.tile, at.head, at.sample).run();
}

template <class Scalar, int width, int tile_queries>
constexpr HopperKernel<Scalar> hopper_kernel() {
    return {width, tile_queries, hopper_forward_kernel<Scalar, width, tile_queries>};
}

}  // namespace

template <class Scalar>
const std::vector<HopperKernel<Scalar>>& hopper_kernels() {
    static const std::vector<HopperKernel<Scalar>> kernels = {hopper_kernel<Scalar, 64, 128>(),
                                                              hopper_kernel<Scalar, 64, 64>()};
    return kernels;
}

template const std::vector<HopperKernel<Half>>& hopper_kernels<Half>();
template const std::vector<HopperKernel<Bfloat16>>& hopper_kernels<Bfloat16>();

}  // namespace locus::cuda
