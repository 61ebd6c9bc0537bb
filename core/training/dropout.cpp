#include "core/training/dropout.h"

#include <algorithm>

#include "core/fast/simd_kernels.h"

namespace locus {

namespace {

template <class Scalar>
void drop_rows(std::uint32_t key, double share, Index first_row, View<Scalar> rows) {
    // The share as the kernels of cuda/ are given it, so that both drop the same.
    const std::uint32_t threshold = dropout_threshold(static_cast<float>(share));
    for (Index r = 0; r < rows.rows(); ++r)
        best_simd_kernels<Scalar>().drop(rows.data() + r * rows.outerStride(), rows.cols(), key,
                                         static_cast<std::uint32_t>(first_row + r), threshold, Scalar(1 / (1 - share)));
}

}  // namespace

std::uint64_t Dropout::site_seed(DropoutSite site, Index use) const {
    const TwoNumbers mixed =
        philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(16 * use + static_cast<Index>(site))},
               static_cast<std::uint32_t>(seed >> 32));
    return std::uint64_t{mixed.first} << 32 | mixed.second;
}

template <class Scalar>
void drop(std::uint64_t seed, Index part, double share, View<Scalar> rows) {
    LOCUS_CHECK(share >= 0 && share < 1,
                "dropout drops a share of " + std::to_string(share) + ", expected 0 <= share < 1");
    if (share > 0) drop_rows<Scalar>(dropout_key(seed, static_cast<std::uint32_t>(part)), share, 0, rows);
}

template <class Scalar>
void drop(std::uint64_t seed, double share, View<Scalar> rows, ThreadPool& pool) {
    LOCUS_CHECK(share >= 0 && share < 1,
                "dropout drops a share of " + std::to_string(share) + ", expected 0 <= share < 1");
    if (share == 0) return;
    constexpr Index kRows = 64;
    const std::uint32_t key = dropout_key(seed, 0);
    pool.parallel_for((rows.rows() + kRows - 1) / kRows, [&](Index piece, int) {
        const Index row = piece * kRows;
        drop_rows<Scalar>(key, share, row, rows.middleRows(row, std::min(kRows, rows.rows() - row)));
    });
}

template void drop<float>(std::uint64_t, Index, double, View<float>);
template void drop<double>(std::uint64_t, Index, double, View<double>);
template void drop<float>(std::uint64_t, double, View<float>, ThreadPool&);
template void drop<double>(std::uint64_t, double, View<double>, ThreadPool&);

}  // namespace locus
