// The kernels' 16-bit numbers and random numbers, against other people's.
#include <catch2/catch.hpp>

#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "cuda/fused/dropout.h"
#include "cuda/fused/half_types.h"

namespace locus::test::test_cuda_numbers {

using namespace locus::cuda;

namespace {

/// Floats of every exponent, with fractions around every rounding decision.
template <class Visit>
void each_float(Visit visit) {
    for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
        for (const std::uint32_t lower : {0x0000u, 0x0001u, 0x0fffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x7fffu,
                                          0x8000u, 0x8001u, 0x9000u, 0xb000u, 0xd000u, 0xf000u, 0xffffu})
            visit(std::bit_cast<float>(upper << 16 | lower));
}

template <class Ours, class Theirs>
bool same(Ours ours, Theirs theirs) {
    const float wide = static_cast<float>(theirs);
    return std::isnan(wide) ? std::isnan(to_float(ours)) : ours.bits == Eigen::numext::bit_cast<std::uint16_t>(theirs);
}

}  // namespace

TEST_CASE("emulation: halves and bfloats are Eigen's, for every pattern and every rounding", "[emulation]") {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto pattern = static_cast<std::uint16_t>(bits);
        const float half = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(pattern)),
                    bfloat = static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(pattern));
        const auto equal = [](float a, float b) {
            return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
        };
        if (!equal(half, to_float(Half{pattern})) || !equal(bfloat, to_float(Bfloat16{pattern})))
            FAIL("pattern " << bits);
    }
    each_float([](float x) {
        if (!same(from_float<Half>(x), Eigen::half(x)) || !same(from_float<Bfloat16>(x), Eigen::bfloat16(x)))
            FAIL("rounding " << x);
    });
}

TEST_CASE("emulation: a score beyond the greatest half is the greatest half, and NaN stays NaN", "[emulation]") {
    CHECK(to_float(to_finite_half(1e9f)) == 65504);
    CHECK(to_float(to_finite_half(-std::numeric_limits<float>::infinity())) == -65504);
    CHECK(to_float(to_finite_half(1.5f)) == 1.5f);
    CHECK(std::isnan(to_float(to_finite_half(std::nanf("")))));
    CHECK(packed<Half>(1, -2) == 0xc0003c00u);
    CHECK(packed<Bfloat16>(1, -2) == 0xc0003f80u);
}

TEST_CASE("emulation: dropout's numbers are those of the counter (i, j)", "[emulation]") {
    for (const std::uint32_t key : {0u, 0x9e3779b9u})
        for (const int i : {0, 1, 8191})
            for (const int j : {0, 2, 8190}) {
                const TwoNumbers found = dropout_numbers(key, i, j);
                const TwoNumbers expected = philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)}, key);
                CHECK(found.first == expected.first);
                CHECK(found.second == expected.second);
            }
}

TEST_CASE("emulation: dropout drops its share, differently in every row, head and seed", "[emulation]") {
    constexpr int kRows = 200, kKeys = 500;
    const std::uint32_t threshold = dropout_threshold(0.1f);
    const auto dropped = [&](std::uint64_t seed, int head, int i, int j) {
        const TwoNumbers two = dropout_numbers(dropout_key(seed, static_cast<std::uint32_t>(head)), i, j / 2 * 2);
        return (j % 2 ? two.second : two.first) < threshold;
    };
    int count = 0, same_head = 0, same_seed = 0, same_row = 0;
    for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kKeys; ++j) {
            const bool here = dropped(1, 0, i, j);
            count += here;
            same_head += here && dropped(1, 1, i, j);
            same_seed += here && dropped(2, 0, i, j);
            same_row += here && dropped(1, 0, i + 1, j);
        }
    const auto near = [&](int found, double share) {
        const double cells = kRows * kKeys;
        return std::abs(found - share * cells) < 5 * std::sqrt(share * (1 - share) * cells);  // five deviations
    };
    CHECK(near(count, 0.1));
    CHECK(near(same_head, 0.01));
    CHECK(near(same_seed, 0.01));
    CHECK(near(same_row, 0.01));
    CHECK(dropout_threshold(0) == 0);
}

}  // namespace locus::test::test_cuda_numbers
