// Compiled for 64-byte registers (core/CMakeLists.txt), called only on processors that have them.
#include "core/lanes.h"

#ifdef __AVX512F__
#include "core/lanes_body.h"
#endif

namespace locus {

template <class Scalar>
const LaneKernels<Scalar>* avx512_lanes() {
#ifdef __AVX512F__
    static constexpr LaneKernels<Scalar> kernels = Lanes<Scalar, 64>::kernels("avx512");
    const bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
    return runs ? &kernels : nullptr;
#else
    return nullptr;
#endif
}

template const LaneKernels<float>* avx512_lanes<float>();
template const LaneKernels<double>* avx512_lanes<double>();

}  // namespace locus
