#pragma once
// Fused disentangled attention, forward: one block of warps takes 16 queries a warp through all keys, tile by tile,
// with an online softmax, and keeps both position terms on the chip.
//
//   1. c2p of the block's queries with every table row that they reach, once: the row table.
//   2. For a tile of keys: p2c of its keys with the rows that the tile reaches: the key table; q k^T; the sum of the
//      three by the tile's places; softmax; p v.
//   A tile that reaches one row only (beyond the span, on both sides) adds a number per query and a number per key.
//
// The text is written for whatever `Block` is: on the device (device_block.h) `each` is one lane with its registers, in
// tests it is all of them one after the other, so that this very code is compared with the reference without a GPU.
// Source: Dao et al. 2022, "FlashAttention", algorithm 1, for the online softmax; the tables are ours.
#include "cuda/fused/forward_steps.h"
#include "cuda/fused/layout.h"
#include "cuda/fused/operand_rows.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width, int tile_keys>
struct ForwardLane : LaneBase {
    std::uint32_t q[width / 16][4] = {};  // 16 queries as left factors
    std::uint32_t a[width / 16][4] = {};  // 16 keys, or 16 queries' probabilities
    std::uint32_t b[4] = {};
    float scores[tile_keys / 8][4] = {};
    float table[4] = {};
    float context[width / 8][4] = {};
    float lift[2] = {};  // what the scores of a query lack, alike in the whole tile
    float largest[2] = {}, tile_largest[2] = {}, shrink[2] = {}, sum[2] = {};
};

template <class Scalar, int width, int tile_queries, int tile_keys, class Block>
class FusedForward {
public:
    using Lane = ForwardLane<width, tile_keys>;
    static constexpr int kWarps = tile_queries / 16, kThreads = 32 * kWarps;
    static_assert(width % 32 == 0 && tile_queries % 16 == 0 && tile_keys % 16 == 0);

    /// capacity: table rows for which there is room in the block's shared memory.
    constexpr FusedForward(Block& block, const ForwardArguments<Scalar>& args, int capacity, int query_block, int head,
                           int sample)
        : block_(block),
          operands_(block),
          steps_(block, args, query_block, head, sample),
          tables_(block, steps_.scale()),
          args_(args),
          layout_(
              ForwardLayout::of(tile_queries, tile_keys, width, capacity, args.k_r != nullptr, args.q_r != nullptr)),
          row_stride_(row_table_stride(round_up(capacity, 8))) {}

    constexpr void run() {
        const int queries = steps_.query_tokens.count, keys = steps_.key_tokens.count;
        if (steps_.i0 >= queries) return;
        block_.each([](Lane& r) { r.largest[0] = r.largest[1] = kNothing; });
        load_queries();
        if (keys > 0) {
            if (args_.k_r)
                fill_row_table(args_.buckets.reached_by(offsets_of_block(steps_.i0, tile_queries, queries, keys)));
            prefetch(0);
            for (int j0 = 0, number = 0; j0 < keys; j0 += tile_keys, ++number) attend(steps_.tile_at(j0), number % 2);
        }
        steps_.template store<Lane>();
    }

private:
    constexpr const Scalar* global(const Rows<const Scalar>& rows, const Tokens& tokens) const {
        return ForwardArguments<Scalar>::at(rows, tokens, steps_.sample, steps_.head);
    }
    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }
    constexpr const Scalar* table_of_head(const Scalar* table, int row) const {
        return table + (static_cast<long long>(steps_.head) * args_.table_rows + row) * width;
    }
    using Operands = OperandRows<Scalar, width, kThreads, Block>;

    constexpr void load_queries() {
        operands_.copy(shared(layout_.window), global(args_.q, steps_.query_tokens) + steps_.i0 * args_.q.row,
                       args_.q.row, tile_queries, steps_.query_tokens.count - steps_.i0);
        block_.arrive();
        unrolled<width / 16>([&](auto step) {
            operands_.load_left(
                shared(layout_.window), [](Lane& r) { return 16 * r.warp(); },
                step, [=](Lane & r) -> auto& { return r.q[step]; });
        });
        block_.sync();
    }

    /// 1. Every row of the table that the block reaches.
    constexpr void fill_row_table(RowRange reached) {
        reached_ = reached;
        tables_.template fill_of_block<kWarps>(
            shared(layout_.row_table), row_stride_, shared(layout_.window),
            ForwardLayout::window_rows(tile_queries, tile_keys), table_of_head(args_.k_r, reached.first), reached.count,
            [](Lane & r) -> auto& { return r.q; });
    }

    constexpr void prefetch(int j0) {
        const Tokens& tokens = steps_.key_tokens;
        const int valid = tokens.count - j0, buffer = j0 / tile_keys % 2 * tile_keys * Operands::kStride;
        operands_.copy(shared(layout_.keys) + buffer, global(args_.k, tokens) + j0 * args_.k.row, args_.k.row,
                       tile_keys, valid);
        operands_.copy(shared(layout_.values) + buffer, global(args_.v, tokens) + j0 * args_.v.row, args_.v.row,
                       tile_keys, valid);
    }

    /// 2. One tile of keys.
    constexpr void attend(const ForwardTile& tile, int buffer) {
        const std::uint16_t* keys = shared(layout_.keys) + buffer * tile_keys * Operands::kStride;
        std::uint8_t* visible = block_.template shared<std::uint8_t>(layout_.visible);
        const RowRange& rows = tile.rows;
        if (args_.q_r)
            operands_.copy(shared(layout_.window), table_of_head(args_.q_r, rows.first), width, round_up(rows.count, 8),
                           rows.count);
        steps_.note_places(tile, shared(layout_.places), visible);
        block_.arrive();
        if (tile.j0 + tile_keys < steps_.key_tokens.count) prefetch(tile.j0 + tile_keys);
        if (args_.q_r)
            tables_.template fill_of_tile<tile_keys>(
                shared(layout_.key_table), kKeyStride, keys, shared(layout_.window), rows.count,
                [](Lane & r) -> auto& { return r.a; });
        block_.each([](Lane& r) { unrolled<tile_keys / 8>([&](auto n) { clear(r.scores[n]); }); });
        unrolled<tile_keys / 8>([&](auto n) {
            operands_.multiply(
                keys, [=](Lane&) { return 8 * n; },
                [](Lane & r) -> auto& { return r.q; }, [=](Lane & r) -> auto& { return r.scores[n]; });
        });
        block_.sync();
        block_.each([&](Lane& r) {
            steps_.add_positions(r, r.scores, tile, position_scores(tile));
            if (!steps_.sees_all(tile)) hide<tile_keys>(block_, r, visible);
        });
        online_softmax_step<width, tile_keys, Lane>(block_);
        if (args_.dropout > 0) block_.each([&](Lane& r) { steps_.drop_some(r, tile.j0); });
        gather_values(shared(layout_.values) + buffer * tile_keys * Operands::kStride);
        block_.sync();
    }

    constexpr PositionScores position_scores(const ForwardTile& tile) const {
        return {args_.k_r ? shared(layout_.row_table) : nullptr,
                row_stride_,
                reached_.first,
                args_.q_r ? shared(layout_.key_table) : nullptr,
                kKeyStride,
                tile.rows.first,
                shared(layout_.places)};
    }

    /// context += probabilities [16, tile_keys] values [tile_keys, width].
    constexpr void gather_values(const std::uint16_t* values) {
        unrolled<tile_keys / 16>([&](auto step) {
            block_.each([=](Lane& r) { Steps::pack_probabilities(r, step, r.a[0]); });
            unrolled<width / 16>([&](auto n) {
                operands_.multiply_down(
                    values, [=](Lane&) { return 16 * step; }, 16 * n, [](Lane& r) { return r.a[0]; },
                    [=](Lane& r) { return &r.context[2 * n]; });
            });
        });
    }

    static constexpr int kKeyStride = key_table_stride(ForwardLayout::window_rows(tile_queries, tile_keys));
    using Steps = ForwardSteps<Scalar, width, tile_queries, tile_keys, Block>;

    Block& block_;
    Operands operands_;
    Steps steps_;
    PositionTables<Scalar, width, kThreads, Block> tables_;
    const ForwardArguments<Scalar>& args_;
    const ForwardLayout layout_;
    int row_stride_;
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
