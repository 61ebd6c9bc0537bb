// The forward kernels on tensor cores, Half.
#include <string>
#include <vector>

#include "cuda/fused/fused_kernels.h"

namespace locus::cuda {

template <>
const std::vector<ForwardKernel<Half>>& forward_kernels<Half>() {
    static const std::vector<ForwardKernel<Half>> kernels = {
        forward_kernel<Half, 32, 128, 64>(),  forward_kernel<Half, 32, 64, 64>(),  forward_kernel<Half, 32, 32, 32>(),
        forward_kernel<Half, 64, 128, 64>(),  forward_kernel<Half, 64, 64, 64>(),  forward_kernel<Half, 64, 32, 32>(),
        forward_kernel<Half, 128, 128, 64>(), forward_kernel<Half, 128, 64, 64>(), forward_kernel<Half, 128, 32, 32>()};
    return kernels;
}

}  // namespace locus::cuda
