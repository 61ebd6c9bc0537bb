// The Hopper forward kernels, Bfloat16; compiled for sm_90a alone.
#include "cuda/hopper/hopper_kernels.h"

namespace locus::cuda {

template <>
const std::vector<HopperKernel<Bfloat16>>& hopper_kernels<Bfloat16>() {
    static const std::vector<HopperKernel<Bfloat16>> kernels = {
        hopper_kernel<Bfloat16, 64, 128>(), hopper_kernel<Bfloat16, 64, 64>(), hopper_kernel<Bfloat16, 128, 128>(),
        hopper_kernel<Bfloat16, 128, 64>()};
    return kernels;
}

}  // namespace locus::cuda
