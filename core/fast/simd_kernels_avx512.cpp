// Compiled for 64-byte registers (core/CMakeLists.txt), called only on processors that have them.
#include "core/fast/simd_kernels.h"

#ifdef __AVX512F__
#include "core/fast/simd_kernels_body.h"
#endif

namespace locus {

template <class Scalar>
const SimdKernels<Scalar>* avx512_simd_kernels() {
#ifdef __AVX512F__
    static constexpr SimdKernels<Scalar> kernels = RegisterKernels<Scalar, 64>::kernels("avx512");
    const bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
    return runs ? &kernels : nullptr;
#else
    return nullptr;
#endif
}

template const SimdKernels<float>* avx512_simd_kernels<float>();
template const SimdKernels<double>* avx512_simd_kernels<double>();

}  // namespace locus
