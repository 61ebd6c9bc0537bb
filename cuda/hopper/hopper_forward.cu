// The Hopper forward kernels; compiled for sm_90a alone.
#include "cuda/hopper/hopper_forward.h"

#include "cuda/hopper/hopper_block.h"
#include "cuda/hopper/hopper_kernels.h"

namespace locus::cuda {

namespace {

template <class Scalar, int width, int tile_queries>
__global__ void __launch_bounds__(hopper_threads(tile_queries), 1)
    hopper_forward_kernel(const __grid_constant__ ForwardArguments<Scalar> args,
                          const __grid_constant__ HopperMaps maps, int capacity) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const BlockPlace at = place_of_block(blockIdx.x, blockIdx.y, args.queries, tile_queries);
    const auto run = [&](auto block) {
        HopperForward<Scalar, width, tile_queries, decltype(block)>(block, args, maps, capacity, at.tile, at.head,
                                                                    at.sample)
            .run();
    };
    // Of 168 registers for each of 384 threads, the two warpgroups that multiply get 224 and the third 56.
    constexpr bool exchanges = tile_queries == 128;
    // By warps, and the compiler knows it.
    if (__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0) < tile_queries / 16) {
        if constexpr (exchanges) asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
        run(HopperBlock<HopperLane<width>, 2 * tile_queries, HopperRole::products>(memory));
    } else {
        if constexpr (exchanges) asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
        run(HopperBlock<HopperLane<width>, 2 * tile_queries, HopperRole::copies>(memory));
    }
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
