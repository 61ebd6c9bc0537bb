#pragma once
// The softmax of rows whose scores come tile by tile: a running maximum, and sums that shrink when it grows.
// Source: Dao et al. 2022, "FlashAttention", algorithm 1; Milakov and Gimelshein 2018, "Online normalizer calculation".
#include <limits>

#include "cuda/fused/dropout.h"
#include "cuda/fused/lanes.h"

namespace locus::cuda {

inline constexpr float kNothing = -std::numeric_limits<float>::infinity();

/// Scores are powers of 2: log2 e is in their scale.
inline constexpr float kLog2e = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

/// Keys that are hidden: no score at all.   visible: of the tile's keys, 0 or 1.
template <int tile_keys, class Lane, class Block>
constexpr void hide(Block& block, Lane& r, const std::uint8_t* visible) {
    unrolled<tile_keys / 8>([&](auto n) {
        unrolled<2>([&](auto column) {
            if (!block.load(r, visible + 8 * n + 2 * r.pair() + column))
                r.scores[n][column] = r.scores[n][2 + column] = kNothing;
        });
    });
}

/// Scores become exp2(scale score + lift - maximum), and the sum shrinks to the new maximum; what the context has to
/// shrink by is r.shrink.   scale: above 0.
template <int tile_keys, class Lane, class Block>
constexpr void exponentiate_scores(Block& block, float scale) {
    block.each([&](Lane& r) {
        unrolled<2>([&](auto side) {
            r.tile_largest[side] = kNothing;
            unrolled<tile_keys / 8>([&](auto n) {
                // Two and two: half as long a chain.
                const float pair = block.larger(r.scores[n][2 * side], r.scores[n][2 * side + 1]);
                r.tile_largest[side] = block.larger(r.tile_largest[side], pair);
            });
        });
    });
    block.quad_largest([](Lane& r) -> float& { return r.tile_largest[0]; });
    block.quad_largest([](Lane& r) -> float& { return r.tile_largest[1]; });
    block.each([&](Lane& r) {
        unrolled<2>([&](auto side) {
            const float now = block.larger(r.largest[side], r.tile_largest[side] * scale + r.lift[side]);
            const float seen = now == kNothing ? 0.0f : now;  // no key so far
            const float base = seen - r.lift[side];
            r.shrink[side] = block.exp2(r.largest[side] - seen);
            r.largest[side] = now;
            r.sum[side] *= r.shrink[side];
            unrolled<tile_keys / 8>([&](auto n) {
                float &first = r.scores[n][2 * side], &second = r.scores[n][2 * side + 1];
                first = block.exp2(first * scale - base);
                second = block.exp2(second * scale - base);
                r.sum[side] += first + second;
            });
        });
    });
}
template <int width, class Lane, class Block>
constexpr void shrink_context(Block& block) {
    block.each([](Lane& r) {
        unrolled<width / 8>([&](auto n) { unrolled<4>([&](auto e) { r.context[n][e] *= r.shrink[e / 2]; }); });
    });
}

/// One tile's step, of scores that are scaled already.
template <int width, int tile_keys, class Lane, class Block>
constexpr void online_softmax_step(Block& block) {
    exponentiate_scores<tile_keys, Lane>(block, 1);
    shrink_context<width, Lane>(block);
}

/// Dropped probabilities become 0, the others grow; the sum under the fraction stays.   i, j: of the lane's first cell.
template <int tile_keys, class Lane>
constexpr void drop(Lane& r, std::uint32_t key, float share, int i, int j) {
    const std::uint32_t threshold = dropout_threshold(share);
    const float kept = 1 / (1 - share);
    unrolled<tile_keys / 16>([&](auto step) {
        TwoNumbers random[4];
        unrolled<4>([&](auto m) { random[m] = dropout_counter(i + 8 * (m % 2), j + 16 * step + 8 * (m / 2)); });
        philox_together(random, key);
        unrolled<4>([&](auto m) {
            float* scores = &r.scores[2 * step + m / 2][m % 2 * 2];
            scores[0] *= random[m].first < threshold ? 0.0f : kept;
            scores[1] *= random[m].second < threshold ? 0.0f : kept;
        });
    });
}

}  // namespace locus::cuda
