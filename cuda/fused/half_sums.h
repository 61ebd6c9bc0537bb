#pragma once
// Sums whose halves two warps have in their registers: one puts its half into shared memory, the other adds it.
#include "cuda/fused/lanes.h"

namespace locus::cuda {

/// [16 bands, width] numbers; warp n has a half of the band n modulo `bands`, as accumulators lie.
template <int width, int bands, class Block>
struct HalfSums {
    Block& block;
    float* sums;  // room for all of them

    template <class Lane>
    constexpr void hand_over(Lane& r, const float (&numbers)[width / 8][4]) const {
        unrolled<width / 8>([&](auto n) {
            unrolled<4>([&](auto e) { block.store(r, sums + place_of(r, 4 * n + e), numbers[n][e]); });
        });
    }
    /// After a barrier.
    template <class Lane>
    constexpr void take_over(const Lane& r, float (&numbers)[width / 8][4]) const {
        unrolled<width / 8>([&](auto n) {
            unrolled<4>([&](auto e) { numbers[n][e] += block.load(r, sums + place_of(r, 4 * n + e)); });
        });
    }

private:
    /// Number after number, those of all lanes side by side.
    template <class Lane>
    static constexpr int place_of(const Lane& r, int number) {
        return (number * bands + r.band(bands)) * 32 + r.lane();
    }
};

}  // namespace locus::cuda
