#pragma once
// Inner loops of the fast path, compiled once per width of the vector registers and chosen at run time.
// Plain pointers and sizes, row-major; no Eigen, because inline code of a header must not exist in two instruction
// sets.
#include <cstddef>
#include <cstdint>

namespace locus {

/// Extents are whole blocks of kSimdBlock where a parameter says "padded"; what lies in the padding is never looked at.
inline constexpr std::ptrdiff_t kSimdBlock = 64;

/// One set of kernels.  Every value is summed in one fixed order, whatever the register width and the caller's blocks.
template <class Scalar>
struct SimdKernels {
    using Index = std::ptrdiff_t;
    const char* name;  // "avx512", "avx2" or "portable"
    Index columns;     // of b that `multiply` takes at once; divides kSimdBlock

    /// c [rows,cols] = start [rows,cols] + a [rows,depth] b [depth,cols], with row strides.  start may be null (zeros),
    /// c itself with its stride (c += a b), or one row for all with stride 0 (a bias).
    void (*multiply)(const Scalar* a, Index a_stride, const Scalar* b, Index b_stride, Index rows, Index cols,
                     Index depth, Scalar* c, Index c_stride, const Scalar* start, Index start_stride);
    /// All three terms of one tile of 64 x 64 scores in one sweep over the channels:
    /// scores[i,j] = sum over c of (q[i,c] + q_r[c,j-i]) k[c,j] + q[i,c] k_r[c,j-i].
    /// q [64,d]; k [d,64] by channel; q_r and k_r by channel, each pointer at the column of j - i = 0.
    void (*banded_scores)(const Scalar* q, Index q_stride, const Scalar* k, Index k_stride, const Scalar* q_r,
                          const Scalar* k_r, Index table_stride, Index channels, Scalar* scores, Index scores_stride);
    /// scores [keys, padded] of one query become exp(factor (score - maximum)) over the visible keys, 0 elsewhere;
    /// returns their sum, NaN if a visible score is NaN.  `mask` [keys], 1 = visible, or null: some key must be
    /// visible. factor > 0.
    Scalar (*exponentials)(Scalar* scores, Index keys, const std::uint8_t* mask, Scalar factor);
    /// out[c,x] = rows[which[x] * stride + c] for x < count (padded) and c < width.
    void (*transpose_rows)(const Scalar* rows, Index stride, const Index* which, Index count, Index width, Scalar* out,
                           Index out_stride);
    /// x (1 + erf(x / sqrt(2))) / 2 in place.
    void (*gelu)(Scalar* x, Index count);
    /// d_y *= the derivative of gelu at x: (1 + erf(x / sqrt(2))) / 2 + x exp(-x^2 / 2) / sqrt(2 pi).
    void (*gelu_backward)(const Scalar* x, Index count, Scalar* d_y);
    /// x[j] *= Philox(counter (i, j), key) < threshold ? 0 : kept for j < count; two neighbouring j share a call, whose
    /// counter holds the even one (core/training/random.h).
    void (*drop)(Scalar* x, Index count, std::uint32_t key, std::uint32_t i, std::uint32_t threshold, Scalar kept);
};

/// The widest set this processor can run.
template <class Scalar>
const SimdKernels<Scalar>& best_simd_kernels();
/// The set that runs wherever the rest of Locus does.
template <class Scalar>
const SimdKernels<Scalar>& portable_simd_kernels();
/// 64-byte registers; null where this program was built without them or the processor has none.
template <class Scalar>
const SimdKernels<Scalar>* avx512_simd_kernels();
/// 32-byte registers and fused products; null where the portable set has them already or the processor has none.
template <class Scalar>
const SimdKernels<Scalar>* avx2_simd_kernels();

/// out [cols, padded rows] = the transpose of in [rows, cols]; columns are padded to whole blocks.
template <class Scalar>
void transpose_padded(const Scalar* in, std::ptrdiff_t stride, std::ptrdiff_t rows, std::ptrdiff_t cols, Scalar* out,
                      std::ptrdiff_t out_stride, const SimdKernels<Scalar>& kernels = best_simd_kernels<Scalar>());

}  // namespace locus
