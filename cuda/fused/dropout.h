#pragma once
// Which probabilities dropout drops: a function of the place alone, so that backward draws the same without a mask.
// The CPU computes the same in core/training/random.h.
#include "core/philox.h"

namespace locus::cuda {

/// What philox makes two random numbers of, for the probabilities of query i and keys j and j + 1; j is even.
constexpr TwoNumbers dropout_counter(int i, int j) {
    return {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)};
}
constexpr TwoNumbers dropout_numbers(std::uint32_t key, int i, int j) { return philox(dropout_counter(i, j), key); }

/// What dropout makes of the probability of query i and key j: 0, or 1 / (1 - share).
constexpr float dropout_factor(std::uint32_t key, float share, int i, int j) {
    const TwoNumbers random = dropout_numbers(key, i, j / 2 * 2);
    return (j % 2 ? random.second : random.first) < dropout_threshold(share) ? 0.0f : 1 / (1 - share);
}

/// The factors of two neighbours: of keys j and j + 1 of query i, which share a draw, or of queries i and i + 1 of key
/// j.
template <bool of_queries>
constexpr void dropout_factors(float (&factors)[2], std::uint32_t key, float share, int i, int j) {
    if constexpr (of_queries) {
        for (int n = 0; n < 2; ++n) factors[n] = dropout_factor(key, share, i + n, j);
    } else {
        const TwoNumbers random = dropout_numbers(key, i, j);
        const std::uint32_t threshold = dropout_threshold(share);
        factors[0] = random.first < threshold ? 0.0f : 1 / (1 - share);
        factors[1] = random.second < threshold ? 0.0f : 1 / (1 - share);
    }
}

}  // namespace locus::cuda
