// The backward kernels on tensor cores, Half.
#include <string>
#include <vector>

#include "cuda/fused/backward_kernels.h"

namespace locus::cuda {

template <>
const std::vector<BackwardKernel<Half>>& backward_kernels<Half>() {
    static const std::vector<BackwardKernel<Half>> kernels = compiled_backward_kernels<Half>();
    return kernels;
}

}  // namespace locus::cuda
