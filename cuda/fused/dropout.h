#pragma once
// Which probabilities dropout drops: a function of the place alone, so that backward draws the same without a mask.
// The CPU computes the same in core/training/dropout.h.
#include "core/philox.h"

namespace locus::cuda {

/// Two random numbers, for the probabilities of query i and keys j and j + 1; j is even.
constexpr TwoNumbers dropout_numbers(std::uint32_t key, int i, int j) {
    TwoNumbers counter{static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)};
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // many of them stand in a row in a kernel, and most calls have no dropout
#endif
    for (int round = 0; round < kPhiloxRounds; ++round, key += kPhiloxWeyl) counter = philox_round(counter, key);
    return counter;
}

/// What dropout makes of the probability of query i and key j: 0, or 1 / (1 - share).
constexpr float dropout_factor(std::uint32_t key, float share, int i, int j) {
    const TwoNumbers random = dropout_numbers(key, i, j / 2 * 2);
    return (j % 2 ? random.second : random.first) < dropout_threshold(share) ? 0.0f : 1 / (1 - share);
}

}  // namespace locus::cuda
