#pragma once
// Philox 2x32 with 10 rounds: two random numbers for a counter and a key, a function of nothing else.  The one
// generator of Locus: training and its dropout on the CPU (core/training/random.h; eight counters at a time in
// core/fast/simd_kernels_body.h) and dropout in CUDA kernels (cuda/fused/dropout.h).
// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.3.
#include <cstdint>

namespace locus {

struct TwoNumbers {
    std::uint32_t first, second;
};

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxMultiplier = 0xd256d193u;
/// What the key grows by from round to round.
inline constexpr std::uint32_t kPhiloxWeyl = 0x9e3779b9u;

constexpr TwoNumbers philox_round(TwoNumbers counter, std::uint32_t key) {
    const std::uint64_t product = std::uint64_t{kPhiloxMultiplier} * counter.first;
    return {static_cast<std::uint32_t>(product >> 32) ^ key ^ counter.second, static_cast<std::uint32_t>(product)};
}

constexpr TwoNumbers philox(TwoNumbers counter, std::uint32_t key) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // a kernel calls it many times in a row, and most calls have no dropout
#endif
    for (int round = 0; round < kPhiloxRounds; ++round, key += kPhiloxWeyl) counter = philox_round(counter, key);
    return counter;
}

/// The same of several counters side by side: a round of each, then the next round.
template <int count>
constexpr void philox_together(TwoNumbers (&counters)[count], std::uint32_t key) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int round = 0; round < kPhiloxRounds; ++round, key += kPhiloxWeyl)
        for (TwoNumbers& counter : counters) counter = philox_round(counter, key);
}

/// The key of one part of what a seed drops: of one sample and head.
constexpr std::uint32_t dropout_key(std::uint64_t seed, std::uint32_t part) {
    return philox({static_cast<std::uint32_t>(seed), part}, static_cast<std::uint32_t>(seed >> 32)).first;
}

/// Random numbers below it are dropped.
constexpr std::uint32_t dropout_threshold(float share) {
    return static_cast<std::uint32_t>(static_cast<double>(share) * 4294967296.0);
}

}  // namespace locus
