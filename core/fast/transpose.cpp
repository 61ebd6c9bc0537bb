#include "core/fast/transpose.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace locus {

namespace {

/// 32 bytes of Scalar, and the integer lanes that shuffle them.
template <class Scalar>
struct Lanes {
    static constexpr int kCount = 32 / sizeof(Scalar);
    using Lane = std::conditional_t<sizeof(Scalar) == 4, std::int32_t, std::int64_t>;
    typedef Scalar Vector __attribute__((vector_size(32)));
    typedef Lane Order __attribute__((vector_size(32)));
};

/// Lane l of the result comes from a (l < n) or b (l - n >= 0): exchanges blocks of `step` lanes between two rows.
/// A constant and no function: a vector of 32 bytes cannot be returned where the machine has no registers for it.
template <class Scalar, int step, bool upper, class Sequence>
struct Exchange;
template <class Scalar, int step, bool upper, int... lane>
struct Exchange<Scalar, step, upper, std::integer_sequence<int, lane...>> {
    static constexpr int n = Lanes<Scalar>::kCount;
    static constexpr typename Lanes<Scalar>::Order kOrder = {
        (upper ? ((lane & step) ? n + lane : lane + step) : ((lane & step) ? n + lane - step : lane))...};
};

/// One stage of Eklundh's transposition: rows r and r + step trade their off-diagonal blocks.
template <class Scalar, int step>
void trade(typename Lanes<Scalar>::Vector* rows) {
    constexpr int n = Lanes<Scalar>::kCount;
    using Sequence = std::make_integer_sequence<int, n>;
    for (int r = 0; r < n; ++r) {
        if (r & step) continue;
        const auto a = rows[r], b = rows[r + step];
        rows[r] = __builtin_shuffle(a, b, Exchange<Scalar, step, false, Sequence>::kOrder);
        rows[r + step] = __builtin_shuffle(a, b, Exchange<Scalar, step, true, Sequence>::kOrder);
    }
}

template <class Scalar>
void add_transposed_block(const Scalar* source, Index source_stride, Scalar* target, Index target_stride) {
    constexpr int n = Lanes<Scalar>::kCount;
    typename Lanes<Scalar>::Vector rows[n];
    for (int r = 0; r < n; ++r) std::memcpy(&rows[r], source + r * source_stride, sizeof rows[r]);
    trade<Scalar, 1>(rows);
    trade<Scalar, 2>(rows);
    if constexpr (n == 8) trade<Scalar, 4>(rows);
    for (int r = 0; r < n; ++r) {
        typename Lanes<Scalar>::Vector sum;
        std::memcpy(&sum, target + r * target_stride, sizeof sum);
        sum += rows[r];
        std::memcpy(target + r * target_stride, &sum, sizeof sum);
    }
}

}  // namespace

template <class Scalar>
void add_transposed_tile(const Scalar* source, Index source_stride, Scalar* target, Index target_stride, Index rows,
                         Index cols) {
    constexpr Index n = Lanes<Scalar>::kCount;
    const Index whole_rows = rows / n * n, whole_cols = cols / n * n;
    for (Index i = 0; i < whole_rows; i += n)
        for (Index j = 0; j < whole_cols; j += n)
            add_transposed_block(source + j * source_stride + i, source_stride, target + i * target_stride + j,
                                 target_stride);
    for (Index i = 0; i < rows; ++i)
        for (Index j = i < whole_rows ? whole_cols : 0; j < cols; ++j)
            target[i * target_stride + j] += source[j * source_stride + i];
}

template void add_transposed_tile<float>(const float*, Index, float*, Index, Index, Index);
template void add_transposed_tile<double>(const double*, Index, double*, Index, Index, Index);

}  // namespace locus
