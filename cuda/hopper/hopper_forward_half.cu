// The Hopper forward kernels, Half; compiled for sm_90a alone.
#include "cuda/hopper/hopper_kernels.h"

namespace locus::cuda {

template <>
const std::vector<HopperKernel<Half>>& hopper_kernels<Half>() {
    static const std::vector<HopperKernel<Half>> kernels = {
        hopper_kernel<Half, 64, 128>(), hopper_kernel<Half, 64, 64>(), hopper_kernel<Half, 128, 128>(),
        hopper_kernel<Half, 128, 64>()};
    return kernels;
}

}  // namespace locus::cuda
