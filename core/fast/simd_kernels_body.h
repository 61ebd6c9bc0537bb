// The kernels of core/fast/simd_kernels.h, written once for any register width.  Included by one file per instruction
// set, which says how wide its registers are; everything here is local to that file.
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include <cmath>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "core/fast/simd_kernels.h"
#include "core/philox.h"

namespace locus {
namespace {

using Index = std::ptrdiff_t;

/// `bytes` of Scalar: V is the register, Loose the same anywhere in memory, Bits its lanes as integers.
template <class Scalar, int bytes>
struct Wide {
    using Integer = std::conditional_t<sizeof(Scalar) == 4, std::uint32_t, std::uint64_t>;
    static constexpr int kLanes = bytes / static_cast<int>(sizeof(Scalar));
    typedef Scalar V __attribute__((vector_size(bytes)));
    typedef Scalar Loose __attribute__((vector_size(bytes), aligned(sizeof(Scalar)), may_alias));
    typedef Integer Bits __attribute__((vector_size(bytes)));
};

template <class Scalar, int bytes>
struct RegisterKernels {
    using W = Wide<Scalar, bytes>;
    using V = typename W::V;
    using Loose = typename W::Loose;
    using Bits = typename W::Bits;
    using Integer = typename W::Integer;
    static constexpr Index L = W::kLanes;
    // Sums in registers: 16 of 32 with 64-byte registers, 8 of 16 with 32-byte ones.
    static constexpr int kRows = 4, kColumns = bytes == 64 ? 4 : 2;

    /// Null stays null.
    static const Scalar* row_of(const Scalar* start, Index ahead) { return start ? start + ahead : nullptr; }

    /// R rows of a against C registers of b's columns.
    template <int R, int C>
    static inline __attribute__((always_inline)) void product_tile(const Scalar* a, Index a_stride, const Scalar* b,
                                                                   Index b_stride, Index depth, Scalar* c,
                                                                   Index c_stride, const Scalar* start,
                                                                   Index start_stride) {
        V sums[R][C];
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < C; ++v)
                sums[r][v] = start ? V(*reinterpret_cast<const Loose*>(start + r * start_stride + v * L)) : V{};
        for (Index k = 0; k < depth; ++k) {
            V b_k[C];
#pragma GCC unroll 8
            for (int v = 0; v < C; ++v) b_k[v] = *reinterpret_cast<const Loose*>(b + k * b_stride + v * L);
#pragma GCC unroll 8
            for (int r = 0; r < R; ++r) {
                const Scalar a_rk = a[r * a_stride + k];
#pragma GCC unroll 8
                for (int v = 0; v < C; ++v) sums[r][v] += a_rk * b_k[v];
            }
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (int v = 0; v < C; ++v) *reinterpret_cast<Loose*>(c + r * c_stride + v * L) = sums[r][v];
    }

    template <int C>
    static void product_columns(const Scalar* a, Index a_stride, const Scalar* b, Index b_stride, Index rows,
                                Index depth, Scalar* c, Index c_stride, const Scalar* start, Index start_stride) {
        constexpr int kTall = 6;  // sums in 24 of 32 registers of 64 bytes, or in 12 of 16 of 32 bytes
        Index r = 0;
        for (; r + kTall <= rows; r += kTall)
            product_tile<kTall, C>(a + r * a_stride, a_stride, b, b_stride, depth, c + r * c_stride, c_stride,
                                   row_of(start, r * start_stride), start_stride);
        for (; r + 3 <= rows; r += 3)
            product_tile<3, C>(a + r * a_stride, a_stride, b, b_stride, depth, c + r * c_stride, c_stride,
                               row_of(start, r * start_stride), start_stride);
        for (; r < rows; ++r)
            product_tile<1, C>(a + r * a_stride, a_stride, b, b_stride, depth, c + r * c_stride, c_stride,
                               row_of(start, r * start_stride), start_stride);
    }

    static void multiply(const Scalar* a, Index a_stride, const Scalar* b, Index b_stride, Index rows, Index cols,
                         Index depth, Scalar* c, Index c_stride, const Scalar* start, Index start_stride) {
        // So many rows of b stay in the first cache while the rows of a go by.
        constexpr Index kDepth = bytes == 64 ? 128 : 256;
        Index col = 0;
        for (const Index wide = kColumns * L; col < cols;) {
            const Index step = col + wide <= cols ? wide : col + L <= cols ? L : 1;
            for (Index k = 0; k < depth || k == 0; k += kDepth) {
                const Index deep = depth - k < kDepth ? depth - k : kDepth;
                const Scalar* from = k > 0 ? c + col : row_of(start, col);
                const Index from_stride = k > 0 ? c_stride : start_stride;
                const Scalar *a_k = a + k, *b_k = b + k * b_stride + col;
                if (step == wide)
                    product_columns<kColumns>(a_k, a_stride, b_k, b_stride, rows, deep, c + col, c_stride, from,
                                              from_stride);
                else if (step == L)
                    product_columns<1>(a_k, a_stride, b_k, b_stride, rows, deep, c + col, c_stride, from, from_stride);
                else
                    product_column(a_k, a_stride, b_k, b_stride, rows, deep, c + col, c_stride, from, from_stride);
            }
            col += step;
        }
    }

    static void product_column(const Scalar* a, Index a_stride, const Scalar* b, Index b_stride, Index rows,
                               Index depth, Scalar* c, Index c_stride, const Scalar* start, Index start_stride) {
        for (Index r = 0; r < rows; ++r) {
            Scalar sum = start ? start[r * start_stride] : Scalar(0);
            for (Index k = 0; k < depth; ++k) sum += a[r * a_stride + k] * b[k * b_stride];
            c[r * c_stride] = sum;
        }
    }

    /// Keeps a loaded value in its register: GCC would rather read these, which straddle two cache lines, again and
    /// again as memory operands.
    static inline __attribute__((always_inline)) void hold([[maybe_unused]] V& value) {
#ifdef __x86_64__
        asm("" : "+v"(value));
#endif
    }

    /// Rows 0, L, 2L ... against neighbouring registers of keys.  Row aL and register v need the offsets of register
    /// v - a, so one load of each table serves a whole diagonal of the tile: that is why the rows are L apart.
    static inline __attribute__((always_inline)) void banded_tile(const Scalar* q, Index q_stride, const Scalar* k,
                                                                  Index k_stride, const Scalar* q_r, const Scalar* k_r,
                                                                  Index table_stride, Index channels, Scalar* scores,
                                                                  Index scores_stride, bool add) {
        V sums[kRows][kColumns];
#pragma GCC unroll 8
        for (int a = 0; a < kRows; ++a)
#pragma GCC unroll 8
            for (int v = 0; v < kColumns; ++v)
                sums[a][v] = add ? V(*reinterpret_cast<const Loose*>(scores + a * L * scores_stride + v * L)) : V{};
        for (Index c = 0; c < channels; ++c) {
            V k_c[kColumns], q_c[kRows];
#pragma GCC unroll 8
            for (int v = 0; v < kColumns; ++v) k_c[v] = *reinterpret_cast<const Loose*>(k + c * k_stride + v * L);
#pragma GCC unroll 8
            for (int a = 0; a < kRows; ++a) q_c[a] = q[a * L * q_stride + c] - V{};
#pragma GCC unroll 16
            for (int offset = 1 - kRows; offset < kColumns; ++offset) {
                V q_row = *reinterpret_cast<const Loose*>(q_r + c * table_stride + offset * L);
                V k_row = *reinterpret_cast<const Loose*>(k_r + c * table_stride + offset * L);
                hold(q_row);
                hold(k_row);
#pragma GCC unroll 8
                for (int a = 0; a < kRows; ++a) {
                    const int v = a + offset;
                    if (v < 0 || v >= kColumns) continue;
                    sums[a][v] += (q_c[a] + q_row) * k_c[v];
                    sums[a][v] += q_c[a] * k_row;
                }
            }
        }
#pragma GCC unroll 8
        for (int a = 0; a < kRows; ++a)
#pragma GCC unroll 8
            for (int v = 0; v < kColumns; ++v)
                *reinterpret_cast<Loose*>(scores + a * L * scores_stride + v * L) = sums[a][v];
    }

    static void banded_scores(const Scalar* q, Index q_stride, const Scalar* k, Index k_stride, const Scalar* q_r,
                              const Scalar* k_r, Index table_stride, Index channels, Scalar* scores,
                              Index scores_stride) {
        // So many channels of both tables' 127 offsets stay in the first cache while the tile is swept.
        constexpr Index kChannels = 64 / static_cast<Index>(sizeof(Scalar));
        for (Index c = 0; c < channels; c += kChannels) {
            const Index some = channels - c < kChannels ? channels - c : kChannels;
            for (Index j = 0; j < kSimdBlock; j += kColumns * L)
                for (Index group = 0; group < kSimdBlock; group += kRows * L)
                    for (Index i = group; i < group + L; ++i)
                        banded_tile(q + i * q_stride + c, q_stride, k + c * k_stride + j, k_stride,
                                    q_r + c * table_stride + j - i, k_r + c * table_stride + j - i, table_stride, some,
                                    scores + i * scores_stride + j, scores_stride, c > 0);
        }
    }

    /// e^x for x <= 0; what would be below the smallest normal number is 0, NaN stays NaN.
    /// x = n ln 2 + r with |r| <= ln 2 / 2, then the series of e^r as far as it moves the last bit.
    static inline __attribute__((always_inline)) V exponential(V x) {
        constexpr bool kSingle = sizeof(Scalar) == 4;
        constexpr Scalar kShift = kSingle ? Scalar(12582912) : Scalar(6755399441055744);  // 1.5 * 2^mantissa
        constexpr Scalar kHigh = kSingle ? Scalar(0.693145751953125) : Scalar(6.93147180369123816490e-01);
        constexpr Scalar kLow = kSingle ? Scalar(1.42860682030941723212e-6) : Scalar(1.90821492927058770002e-10);
        constexpr Scalar kLeast = kSingle ? Scalar(-87) : Scalar(-708);
        constexpr Integer kBias = kSingle ? 127 : 1023, kMantissa = kSingle ? 23 : 52;
        constexpr int kTerms = kSingle ? 7 : 13;
        const V shifted = x * Scalar(1.44269504088896340736) + kShift;
        const V n = shifted - kShift;
        const V r = (x - n * kHigh) - n * kLow;
        V sum = V{} + inverse_factorial(kTerms);
#pragma GCC unroll 16
        for (int term = kTerms - 1; term >= 0; --term) sum = sum * r + inverse_factorial(term);
        // The low bits of `shifted` are n itself; moved up they are the exponent of 2^n.
        const Bits power = (reinterpret_cast<Bits>(shifted) + kBias) << kMantissa;
        return x < kLeast ? V{} : sum * reinterpret_cast<V>(power);
    }
    static constexpr Scalar inverse_factorial(int n) {
        double product = 1;
        for (int m = 2; m <= n; ++m) product *= m;
        return Scalar(1 / product);
    }

    static Scalar exponentials(Scalar* scores, Index keys, const std::uint8_t* mask, Scalar factor) {
        constexpr Scalar kNever = -__builtin_huge_val();
        const Index padded = (keys + L - 1) / L * L;
        for (Index j = keys; j < padded; ++j) scores[j] = kNever;
        if (mask)
            for (Index j = 0; j < keys; ++j) scores[j] = mask[j] ? scores[j] : kNever;
        V largest = V{} + kNever;
        for (Index j = 0; j < padded; j += L) {
            const V score = *reinterpret_cast<const Loose*>(scores + j);
            largest = score > largest ? score : largest;
        }
        Scalar maximum = kNever;
        for (Index l = 0; l < L; ++l) maximum = largest[l] > maximum ? largest[l] : maximum;
        V sums = {};
        for (Index j = 0; j < padded; j += L) {
            const V e = exponential((*reinterpret_cast<const Loose*>(scores + j) - maximum) * factor);
            sums += e;
            *reinterpret_cast<Loose*>(scores + j) = e;
        }
        Scalar sum = 0;
        for (Index l = 0; l < L; ++l) sum += sums[l];
        return sum;
    }

    template <int step, bool upper, class Sequence>
    struct Exchange;
    template <int step, bool upper, int... lane>
    struct Exchange<step, upper, std::integer_sequence<int, lane...>> {
        static constexpr int n = W::kLanes;
        static inline __attribute__((always_inline)) void of(const V& a, const V& b, V& result) {
            result = __builtin_shufflevector(
                a, b, (upper ? ((lane & step) ? n + lane : lane + step) : ((lane & step) ? n + lane - step : lane))...);
        }
    };
    /// One stage of Eklundh's transposition: rows r and r + step trade their off-diagonal blocks.
    template <int step>
    static inline __attribute__((always_inline)) void trade(V* rows) {
        using Sequence = std::make_integer_sequence<int, W::kLanes>;
#pragma GCC unroll 16
        for (int r = 0; r < W::kLanes; ++r) {
            if (r & step) continue;
            const V a = rows[r], b = rows[r + step];
            Exchange<step, false, Sequence>::of(a, b, rows[r]);
            Exchange<step, true, Sequence>::of(a, b, rows[r + step]);
        }
    }

    static void transpose_rows(const Scalar* rows, Index stride, const Index* which, Index count, Index width,
                               Scalar* out, Index out_stride) {
        for (Index x = 0; x < count; x += L) {
            Index c = 0;
            for (; c + L <= width; c += L) {
                V square[W::kLanes];
#pragma GCC unroll 16
                for (int l = 0; l < W::kLanes; ++l)
                    square[l] = *reinterpret_cast<const Loose*>(rows + which[x + l] * stride + c);
                trade<1>(square);
                if constexpr (W::kLanes > 2) trade<2>(square);
                if constexpr (W::kLanes > 4) trade<4>(square);
                if constexpr (W::kLanes > 8) trade<8>(square);
#pragma GCC unroll 16
                for (int l = 0; l < W::kLanes; ++l)
                    *reinterpret_cast<Loose*>(out + (c + l) * out_stride + x) = square[l];
            }
            for (; c < width; ++c)
                for (Index l = 0; l < L; ++l) out[c * out_stride + x + l] = rows[which[x + l] * stride + c];
        }
    }

    /// erf in single precision as x P(x^2) / Q(x^2) on [-4, 4], beyond which it rounds to +-1; within 4e-7 everywhere.
    /// Coefficients: Eigen, generic_fast_erf_float.
    static inline __attribute__((always_inline)) V fast_erf(V x) {
        x = x > Scalar(4) ? V{} + Scalar(4) : x < Scalar(-4) ? V{} - Scalar(4) : x;
        const V x2 = x * x;
        V p = x2 * Scalar(-2.72614225801306e-10) + Scalar(2.77068142495902e-08);
        for (const double next : {-2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04,
                                  -2.95459980854025e-03, -1.60960333262415e-02})
            p = p * x2 + Scalar(next);
        V q = x2 * Scalar(-1.45660718464996e-05) + Scalar(-2.13374055278905e-04);
        for (const double next : {-1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02})
            q = q * x2 + Scalar(next);
        return x * p / q;
    }

    static void gelu(Scalar* x, Index count) {
        Index n = 0;
        if constexpr (sizeof(Scalar) == 4)
            for (; n + L <= count; n += L) {
                const V v = *reinterpret_cast<const Loose*>(x + n);
                *reinterpret_cast<Loose*>(x + n) =
                    Scalar(0.5) * v * (Scalar(1) + fast_erf(v * Scalar(0.70710678118654752440)));
            }
        for (; n < count; ++n)
            x[n] = Scalar(0.5) * x[n] * (Scalar(1) + std::erf(x[n] * Scalar(0.70710678118654752440)));
    }

    static void gelu_backward(const Scalar* x, Index count, Scalar* d_y) {
        constexpr Scalar kHalfRoot = Scalar(0.70710678118654752440), kDensity = Scalar(0.39894228040143267794);
        Index n = 0;
        if constexpr (sizeof(Scalar) == 4)
            for (; n + L <= count; n += L) {
                const V v = *reinterpret_cast<const Loose*>(x + n);
                const V below = Scalar(0.5) * (Scalar(1) + fast_erf(v * kHalfRoot));
                const V density = kDensity * exponential(v * v * Scalar(-0.5));
                *reinterpret_cast<Loose*>(d_y + n) = *reinterpret_cast<const Loose*>(d_y + n) * (below + v * density);
            }
        for (; n < count; ++n)
            d_y[n] *= Scalar(0.5) * (Scalar(1) + std::erf(x[n] * kHalfRoot)) +
                      x[n] * kDensity * std::exp(Scalar(-0.5) * x[n] * x[n]);
    }

    using Words = typename Wide<std::uint64_t, bytes>::V;
    /// The lower halves of the lanes times a factor: one instruction that GCC does not find by itself.
    static inline __attribute__((always_inline)) Words low_product(Words a, std::uint32_t factor) {
#ifdef __AVX512F__
        if constexpr (bytes == 64)
            return reinterpret_cast<Words>(
                _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(factor)));
#endif
#ifdef __AVX2__
        if constexpr (bytes == 32)
            return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(factor)));
#endif
        return (a & std::uint64_t{0xffffffffu}) * std::uint64_t{factor};
    }

    /// Two random numbers per 64-bit lane, the first in its lower half: in memory they stand in the order of j.
    static void drop(Scalar* x, Index count, std::uint32_t key, std::uint32_t i, std::uint32_t threshold, Scalar kept) {
        using LooseWords = typename Wide<std::uint64_t, bytes>::Loose;
        constexpr Index kWords = bytes / 8, kNumbers = 4 * kWords;
        constexpr std::uint64_t kLow = 0xffffffffu;
        alignas(64) std::uint32_t numbers[kNumbers];
        for (Index j = 0; j < count; j += kNumbers) {
            alignas(64) std::uint64_t even[2 * kWords];
            for (Index w = 0; w < 2 * kWords; ++w) even[w] = static_cast<std::uint32_t>(j + 2 * w);
            Words first[2] = {Words{} + i, Words{} + i};
            Words second[2] = {*reinterpret_cast<const LooseWords*>(even),
                               *reinterpret_cast<const LooseWords*>(even + kWords)};
            std::uint32_t round_key = key;
            for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma GCC unroll 2
                for (int half = 0; half < 2; ++half) {
                    const Words product = low_product(first[half], kPhiloxMultiplier);
                    first[half] = (product >> 32) ^ std::uint64_t{round_key} ^ second[half];
                    second[half] = product & kLow;
                }
                round_key += kPhiloxWeyl;
            }
            for (int half = 0; half < 2; ++half)
                *reinterpret_cast<LooseWords*>(numbers + half * 2 * kWords) = first[half] | second[half] << 32;
            const Index some = count - j < kNumbers ? count - j : kNumbers;
            for (Index n = 0; n < some; ++n) x[j + n] *= numbers[n] < threshold ? Scalar(0) : kept;
        }
    }

    static constexpr SimdKernels<Scalar> kernels(const char* name) {
        return {name, kColumns * L, multiply, banded_scores, exponentials, transpose_rows, gelu, gelu_backward, drop};
    }
};

}  // namespace
}  // namespace locus
