#include "core/training/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "core/check.h"
#include "core/fast/simd_kernels.h"

namespace locus {

namespace {

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

/// 64 bits that stand for seed and stream.
TwoNumbers name_of(std::uint64_t seed, std::uint64_t stream) {
    const TwoNumbers once = philox({low(seed), low(stream)}, high(seed));
    return philox({once.first, once.second ^ high(stream)}, low(stream));
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::uint64_t stream, std::uint64_t place)
    : name_(name_of(seed, stream)), place_(place) {}

std::uint32_t RandomStream::next() {
    const TwoNumbers pair = philox({low(place_ / 2), name_.second}, name_.first);
    return place_++ % 2 == 0 ? pair.first : pair.second;
}

std::uint64_t RandomStream::next_below(std::uint64_t limit) {
    constexpr std::uint64_t kAll = std::uint64_t{1} << 32;
    LOCUS_CHECK(limit >= 1 && limit <= kAll,
                "a random number below " + std::to_string(limit) + " was asked for, expected a limit from 1 to 2^32");
    // The upper half of number * limit; the few products that would favour some results are drawn again (Lemire 2019).
    const std::uint64_t unfair = kAll % limit;
    for (;;) {
        const std::uint64_t product = next() * limit;
        if (low(product) >= unfair) return product >> 32;
    }
}

double RandomStream::uniform() {
    const std::uint64_t upper = next(), lower = next();
    return std::ldexp(static_cast<double>(upper << 21 | lower >> 11), -53);
}

double RandomStream::gaussian() {
    const double radius = std::sqrt(-2 * std::log1p(-uniform())), angle = 2 * std::numbers::pi * uniform();
    return radius * std::cos(angle);
}

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
