// Compiled for 32-byte registers and fused products (core/CMakeLists.txt) where the rest of Locus is not, as in the
// wheel of the Python package; called only on processors that have them.
#include "core/fast/simd_kernels.h"

#ifdef LOCUS_AVX2_KERNELS
#include "core/fast/simd_kernels_body.h"
#endif

namespace locus {

template <class Scalar>
const SimdKernels<Scalar>* avx2_simd_kernels() {
#ifdef LOCUS_AVX2_KERNELS
    static constexpr SimdKernels<Scalar> kernels = RegisterKernels<Scalar, 32>::kernels("avx2");
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kernels : nullptr;
#else
    return nullptr;
#endif
}

template const SimdKernels<float>* avx2_simd_kernels<float>();
template const SimdKernels<double>* avx2_simd_kernels<double>();

}  // namespace locus
