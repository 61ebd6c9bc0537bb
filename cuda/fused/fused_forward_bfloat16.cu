// The forward kernels on tensor cores, Bfloat16.
#include <string>
#include <vector>

#include "cuda/fused/fused_kernels.h"

namespace locus::cuda {

template <>
const std::vector<ForwardKernel<Bfloat16>>& forward_kernels<Bfloat16>() {
    static const std::vector<ForwardKernel<Bfloat16>> kernels = {
        forward_kernel<Bfloat16, 32, 128, 64>(),  forward_kernel<Bfloat16, 32, 64, 64>(),
        forward_kernel<Bfloat16, 32, 32, 32>(),   forward_kernel<Bfloat16, 64, 128, 64>(),
        forward_kernel<Bfloat16, 64, 64, 64>(),   forward_kernel<Bfloat16, 64, 32, 32>(),
        forward_kernel<Bfloat16, 128, 128, 64>(), forward_kernel<Bfloat16, 128, 64, 64>(),
        forward_kernel<Bfloat16, 128, 32, 32>()};
    return kernels;
}

}  // namespace locus::cuda
