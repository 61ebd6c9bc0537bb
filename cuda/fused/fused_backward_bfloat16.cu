// The backward kernels on tensor cores, Bfloat16.
#include <string>
#include <vector>

#include "cuda/fused/backward_kernels.h"

namespace locus::cuda {

template <>
const std::vector<BackwardKernel<Bfloat16>>& backward_kernels<Bfloat16>() {
    static const std::vector<BackwardKernel<Bfloat16>> kernels = compiled_backward_kernels<Bfloat16>();
    return kernels;
}

}  // namespace locus::cuda
