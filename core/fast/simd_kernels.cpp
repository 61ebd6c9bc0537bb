#include "core/fast/simd_kernels.h"

#include "core/fast/simd_kernels_body.h"

namespace locus {

template <class Scalar>
const SimdKernels<Scalar>& portable_simd_kernels() {
#ifdef __AVX__
    constexpr int kBytes = 32;
#else
    constexpr int kBytes = 16;
#endif
    static constexpr SimdKernels<Scalar> kernels = RegisterKernels<Scalar, kBytes>::kernels("portable");
    return kernels;
}

template <class Scalar>
const SimdKernels<Scalar>& best_simd_kernels() {
    for (const SimdKernels<Scalar>* wide : {avx512_simd_kernels<Scalar>(), avx2_simd_kernels<Scalar>()})
        if (wide) return *wide;
    return portable_simd_kernels<Scalar>();
}

template <class Scalar>
void transpose_padded(const Scalar* in, Index stride, Index rows, Index cols, Scalar* out, Index out_stride,
                      const SimdKernels<Scalar>& kernels) {
    Index which[kSimdBlock];
    for (Index row = 0; row < rows; row += kSimdBlock) {
        for (Index n = 0; n < kSimdBlock; ++n) which[n] = row + n < rows ? row + n : rows - 1;
        kernels.transpose_rows(in, stride, which, kSimdBlock, cols, out + row, out_stride);
    }
}

template const SimdKernels<float>& portable_simd_kernels<float>();
template const SimdKernels<double>& portable_simd_kernels<double>();
template const SimdKernels<float>& best_simd_kernels<float>();
template const SimdKernels<double>& best_simd_kernels<double>();
template void transpose_padded<float>(const float*, Index, Index, Index, float*, Index, const SimdKernels<float>&);
template void transpose_padded<double>(const double*, Index, Index, Index, double*, Index, const SimdKernels<double>&);

}  // namespace locus
