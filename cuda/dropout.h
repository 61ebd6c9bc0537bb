#pragma once
// Which probabilities dropout drops: a function of the place alone, so that backward draws the same without a mask.
#include <cstdint>

namespace locus::cuda {

struct TwoNumbers {
    std::uint32_t first, second;
};

/// Philox 2x32 with 10 rounds: two random numbers for a counter and a key.
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 4.3.
constexpr TwoNumbers philox(TwoNumbers counter, std::uint32_t key) {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // many of them stand in a row in a kernel, and most calls have no dropout
#endif
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product = std::uint64_t{0xd256d193u} * counter.first;
        counter = {static_cast<std::uint32_t>(product >> 32) ^ key ^ counter.second,
                   static_cast<std::uint32_t>(product)};
        key += 0x9e3779b9u;
    }
    return counter;
}

/// The key of one sample and head.
constexpr std::uint32_t dropout_key(std::uint64_t seed, int sample_and_head) {
    const TwoNumbers mixed = philox({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(sample_and_head)},
                                    static_cast<std::uint32_t>(seed >> 32));
    return mixed.first;
}

/// Numbers below it are dropped.
constexpr std::uint32_t dropout_threshold(float share) {
    return static_cast<std::uint32_t>(static_cast<double>(share) * 4294967296.0);
}

/// Two random numbers, for the probabilities of query i and keys j and j + 1; j is even.
constexpr TwoNumbers dropout_numbers(std::uint32_t key, int i, int j) {
    return philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)}, key);
}

/// What dropout makes of the probability of query i and key j: 0, or 1 / (1 - share).
constexpr float dropout_factor(std::uint32_t key, float share, int i, int j) {
    const TwoNumbers random = dropout_numbers(key, i, j / 2 * 2);
    return (j % 2 ? random.second : random.first) < dropout_threshold(share) ? 0.0f : 1 / (1 - share);
}

}  // namespace locus::cuda
