#pragma once
// What the forward kernels on tensor cores do alike, whichever instructions multiply: which row of the relative table
// serves a place, the sum of the three scores, and the output.
#include <cmath>

#include "cuda/fused/arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/online_softmax.h"
#include "cuda/fused/position_scores.h"

namespace locus::cuda {

/// The pairs of one tile of keys with a block's queries.
struct ForwardTile {
    int j0;               // the first key
    OffsetRange offsets;  // of the pairs that exist
    RowRange rows;        // of the relative table that they reach; one row where there are no positions at all
};

/// A Block of 2 * tile_queries threads, whose lanes hold scores[tile_keys / 8][4] and context[width / 8][4] of 16
/// queries a warp, and largest[2] and sum[2] of two of them.
template <class Scalar, int width, int tile_queries, int tile_keys, class Block>
class ForwardSteps {
public:
    static constexpr int kThreads = 2 * tile_queries;
    using Cells = float[tile_keys / 8][4];  // a lane's, of a tile

    constexpr ForwardSteps(Block& block, const ForwardArguments<Scalar>& args, int query_block, int of_head,
                           int of_sample)
        : query_tokens(args.queries_of(of_sample)),
          key_tokens(args.keys_of(of_sample)),
          i0(query_block * tile_queries),
          head(of_head),
          sample(of_sample),
          block_(block),
          args_(args) {}

    const Tokens query_tokens, key_tokens;
    const int i0, head, sample;

    constexpr bool positions() const { return args_.k_r || args_.q_r; }
    /// Scores are powers of 2.
    constexpr float scale() const { return args_.scale * kLog2e; }

    constexpr ForwardTile tile_at(int j0) const {
        const OffsetRange offsets =
            offsets_of_tile(i0, j0, tile_queries, tile_keys, query_tokens.count, key_tokens.count);
        return {j0, offsets, positions() ? args_.buckets.reached_by(offsets) : RowRange{0, 1}};
    }

    /// No key of the tile is hidden, and none is missing.
    constexpr bool sees_all(const ForwardTile& tile) const {
        return !args_.visible_keys && tile.j0 + tile_keys <= key_tokens.count;
    }

    constexpr bool sees(int key) const { return key < key_tokens.count && visibility(key) != 0; }
    /// What the mask says of a key, or of the last one where there are not so many; 1 without a mask.
    constexpr std::uint8_t visibility(int key) const {
        if (!args_.visible_keys) return 1;
        const int existing = smaller(key, key_tokens.count - 1);
        return args_.visible_keys[static_cast<long long>(sample) * args_.keys + existing];
    }

    /// The table's row at every place, and which keys are visible where some are not.
    constexpr void note_places(const ForwardTile& tile, std::uint16_t* places, std::uint8_t* visible) {
        block_.each([&](auto& r) {
            if (tile.rows.count > 1)
                for (int place = r.thread; place < tile_queries + tile_keys - 1; place += kThreads)
                    block_.store(r, places + place,
                                 static_cast<std::uint16_t>(
                                     args_.buckets.row(offset_at_place(place, i0, tile.j0, tile_keys, tile.offsets))));
            if (sees_all(tile)) return;
            for (int j = r.thread; j < tile_keys; j += kThreads)
                block_.store(r, visible + j, static_cast<std::uint8_t>(sees(tile.j0 + j)));
        });
    }

    /// The lane's scores and lift = scale c2c + c2p + p2c of its cells.   c2c: may be those very scores.
    template <class Lane>
    constexpr void add_positions(Lane& r, const Cells& c2c, const ForwardTile& tile, const PositionScores& from) const {
        PositionSum<tile_keys, tile_keys, Block>{block_, scale(), from, tile.rows}.add(
            r, c2c, 16 * r.warp() + r.group(), 2 * r.pair());
    }

    /// Probabilities of 16 queries and the keys 16 step and 15 more, as left factors: accumulators are, as they lie.
    template <class Lane>
    static constexpr void pack_probabilities(const Lane& r, int step, std::uint32_t (&a)[4]) {
        const auto &first = r.scores[2 * step], &second = r.scores[2 * step + 1];
        a[0] = packed<Scalar>(first[0], first[1]);
        a[1] = packed<Scalar>(first[2], first[3]);
        a[2] = packed<Scalar>(second[0], second[1]);
        a[3] = packed<Scalar>(second[2], second[3]);
    }

    /// Dropped probabilities become 0.
    template <class Lane>
    constexpr void drop_some(Lane& r, int j0) const {
        drop<tile_keys>(r, dropout_key(args_.seed, static_cast<std::uint32_t>(sample * args_.heads + head)),
                        args_.dropout, i0 + 16 * r.warp() + r.group(), j0 + 2 * r.pair());
    }

    /// context and log_sum, for the queries that exist.
    template <class Lane>
    constexpr void store() {
        block_.quad_sum([](Lane& r) -> float& { return r.sum[0]; });
        block_.quad_sum([](Lane& r) -> float& { return r.sum[1]; });
        Scalar* context = ForwardArguments<Scalar>::at(args_.context, query_tokens, sample, head);
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto side) {
                const int i = i0 + 16 * r.warp() + r.group() + 8 * side;
                if (i >= query_tokens.count) return;
                // No visible key at all: zeros.  A sum that is not a number divides into numbers that are none.
                const float share = r.sum[side] == 0 ? 0.0f : 1 / r.sum[side];
                unrolled<width / 8>([&](auto n) {
                    block_.store_pair(
                        context + i * args_.context.row + 8 * n + 2 * r.pair(),
                        packed<Scalar>(r.context[n][2 * side] * share, r.context[n][2 * side + 1] * share));
                });
                if (args_.log_sum && r.pair() == 0)
                    args_.log_sum[(static_cast<long long>(sample) * args_.heads + head) * args_.queries + i] =
                        r.sum[side] == 0 ? -kNothing : (r.largest[side] + std::log2(r.sum[side])) * kLn2;
            });
        });
    }

private:
    Block& block_;
    const ForwardArguments<Scalar>& args_;
};

}  // namespace locus::cuda
