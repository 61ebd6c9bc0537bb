#pragma once
// Fused disentangled attention, forward: one block of warps takes 16 queries a warp through all keys, tile by tile,
// with an online softmax, and keeps both position terms on the chip.
//
//   1. c2p of the block's queries with every table row that they reach, once: the row table.
//   2. For a tile of keys: p2c of its keys with the rows that the tile reaches: the key table; q k^T; the sum of the
//      three by the tile's places; softmax; p v.
//   A tile that reaches one row only (both ends of the line) adds a number per query and a number per key.
//
// The text is written for whatever `Block` is: on the device (device_block.h) `each` is one lane with its registers, in
// tests it is all of them one after the other, so that this very code is compared with the reference without a GPU.
// Source: Dao et al. 2022, "FlashAttention", algorithm 1, for the online softmax; the tables are ours.
#include <cmath>

#include "cuda/fused_arguments.h"
#include "cuda/fused_layout.h"
#include "cuda/online_softmax.h"
#include "cuda/operand_rows.h"
#include "cuda/position_tables.h"
#include "cuda/short_float.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width, int tile_keys>
struct ForwardLane : LanePlace {
    std::uint32_t q[width / 16][4] = {};  // 16 queries as left factors
    std::uint32_t a[width / 16][4] = {};  // 16 keys, or 16 queries' probabilities
    std::uint32_t b[4] = {};
    float scores[tile_keys / 8][4] = {};
    float table[4] = {};
    float context[width / 8][4] = {};
    float largest[2] = {}, tile_largest[2] = {}, sum[2] = {};
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
          tables_(block, args.scale * kLog2e),
          args_(args),
          layout_(
              ForwardLayout::of(tile_queries, tile_keys, width, capacity, args.k_r != nullptr, args.q_r != nullptr)),
          head_(head),
          sample_(sample),
          query_tokens_(args.queries_of(sample)),
          key_tokens_(args.keys_of(sample)),
          i0_(query_block * tile_queries) {
        row_stride_ = row_table_stride(round_up(capacity, 8));
    }

    constexpr void run() {
        const int queries = query_tokens_.count, keys = key_tokens_.count;
        if (i0_ >= queries) return;
        block_.each([](Lane& r) { r.largest[0] = r.largest[1] = kNothing; });
        load_queries();
        if (keys > 0) {
            if (args_.k_r) fill_row_table(args_.line.reached_by(offsets_of_block(i0_, tile_queries, queries, keys)));
            prefetch(0);
            for (int j0 = 0, tile = 0; j0 < keys; j0 += tile_keys, ++tile) attend(j0, tile % 2);
        }
        store();
    }

private:
    constexpr const Scalar* global(const Rows<const Scalar>& rows, const Tokens& tokens) const {
        return ForwardArguments<Scalar>::at(rows, tokens, sample_, head_);
    }
    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }
    constexpr const Scalar* table_of_head(const Scalar* table, int row) const {
        return table + (static_cast<long long>(head_) * args_.table_rows + row) * width;
    }
    using Operands = OperandRows<Scalar, width, kThreads, Block>;

    constexpr void load_queries() {
        operands_.copy(shared(layout_.window), global(args_.q, query_tokens_) + i0_ * args_.q.row, args_.q.row,
                       tile_queries, query_tokens_.count - i0_);
        block_.arrive();
        unrolled<width / 16>([&](auto step) {
            operands_.load_left(
                shared(layout_.window), [](Lane& r) { return 16 * r.warp(); }, step,
                [](Lane & r) -> auto& { return r.q[decltype(step)::value]; });
        });
        block_.sync();
    }

    constexpr float scale() const { return args_.scale * kLog2e; }

    /// 1. Every row of the table that the block reaches.
    constexpr void fill_row_table(RowRange reached) {
        reached_ = reached;
        tables_.fill_of_block(
            shared(layout_.row_table), row_stride_, shared(layout_.window),
            ForwardLayout::window_rows(tile_queries, tile_keys), table_of_head(args_.k_r, reached.first), reached.count,
            [](Lane & r) -> auto& { return r.q; });
    }

    constexpr void prefetch(int j0) {
        const int valid = key_tokens_.count - j0, buffer = j0 / tile_keys % 2 * tile_keys * Operands::kStride;
        operands_.copy(shared(layout_.keys) + buffer, global(args_.k, key_tokens_) + j0 * args_.k.row, args_.k.row,
                       tile_keys, valid);
        operands_.copy(shared(layout_.values) + buffer, global(args_.v, key_tokens_) + j0 * args_.v.row, args_.v.row,
                       tile_keys, valid);
    }

    /// 2. One tile of keys.
    constexpr void attend(int j0, int buffer) {
        const std::uint16_t* keys = shared(layout_.keys) + buffer * tile_keys * Operands::kStride;
        const OffsetRange offsets =
            offsets_of_tile(i0_, j0, tile_queries, tile_keys, query_tokens_.count, key_tokens_.count);
        const bool positions = args_.k_r || args_.q_r;
        const RowRange rows = positions ? args_.line.reached_by(offsets) : RowRange{0, 1};
        if (args_.q_r)
            operands_.copy(shared(layout_.window), table_of_head(args_.q_r, rows.first), width, round_up(rows.count, 8),
                           rows.count);
        note_places(j0, offsets, rows);
        block_.arrive();
        if (j0 + tile_keys < key_tokens_.count) prefetch(j0 + tile_keys);
        if (args_.q_r)
            tables_.template fill_of_tile<tile_keys>(
                shared(layout_.key_table), kKeyStride, keys, shared(layout_.window), rows.count,
                [](Lane & r) -> auto& { return r.a; });
        block_.each([](Lane& r) { unrolled<tile_keys / 8>([&](auto n) { clear(r.scores[n]); }); });
        unrolled<tile_keys / 8>([&](auto n) {
            operands_.multiply(
                keys, [](Lane&) { return 8 * decltype(n)::value; }, [](Lane & r) -> auto& { return r.q; },
                [](Lane & r) -> auto& { return r.scores[decltype(n)::value]; });
        });
        block_.sync();
        block_.each([&](Lane& r) {
            if (positions && rows.count > 1)
                add_by_place(r, rows);
            else
                add_constants(r, rows, positions);
            hide<tile_keys>(block_, r, block_.template shared<std::uint8_t>(layout_.visible));
        });
        soften<width, tile_keys, Lane>(block_);
        if (args_.dropout > 0)
            block_.each([&](Lane& r) {
                drop<tile_keys>(r, dropout_key(args_.seed, sample_ * args_.heads + head_), args_.dropout,
                                i0_ + 16 * r.warp() + r.group(), j0 + 2 * r.pair());
            });
        gather_values(shared(layout_.values) + buffer * tile_keys * Operands::kStride);
        block_.sync();
    }

    /// The table's row at every place, and which keys are visible.
    constexpr void note_places(int j0, OffsetRange offsets, RowRange rows) {
        block_.each([&](Lane& r) {
            if (rows.count > 1)
                for (int place = r.thread; place < tile_queries + tile_keys - 1; place += kThreads)
                    block_.store(r, shared(layout_.places) + place,
                                 static_cast<std::uint16_t>(
                                     args_.line.row(offset_at_place(place, i0_, j0, tile_keys, offsets))));
            for (int j = r.thread; j < tile_keys; j += kThreads) {
                const bool exists = j0 + j < key_tokens_.count;
                const bool visible =
                    exists && (!args_.visible_keys ||
                               args_.visible_keys[static_cast<long long>(sample_) * args_.keys + j0 + j] != 0);
                block_.store(r, block_.template shared<std::uint8_t>(layout_.visible) + j,
                             static_cast<std::uint8_t>(visible));
            }
        });
    }

    /// scores = scale c2c + c2p + p2c, each pair by the row of its place.
    constexpr void add_by_place(Lane& r, RowRange rows) const {
        const std::uint16_t* places = shared(layout_.places);
        unrolled<tile_keys / 8>([&](auto n) {
            unrolled<4>([&](auto e) {
                const int i = 16 * r.warp() + r.group() + e / 2 * 8, j = 8 * n + 2 * r.pair() + e % 2;
                const int row = block_.load(r, places + place_in_tile(i, j, tile_keys));
                float score = r.scores[n][e] * scale();
                if (args_.k_r)
                    score += tables_.at(r, shared(layout_.row_table) + i * row_stride_ + row - reached_.first);
                if (args_.q_r) score += tables_.at(r, shared(layout_.key_table) + j * kKeyStride + row - rows.first);
                r.scores[n][e] = score;
            });
        });
    }

    /// The same where all pairs of the tile share one row: a number per query and a number per key.
    constexpr void add_constants(Lane& r, RowRange rows, bool positions) const {
        const bool c2p = positions && args_.k_r, p2c = positions && args_.q_r;
        float of_query[2] = {0, 0};
        if (c2p)
            for (int side = 0; side < 2; ++side)
                of_query[side] =
                    tables_.at(r, shared(layout_.row_table) + (16 * r.warp() + r.group() + 8 * side) * row_stride_ +
                                      rows.first - reached_.first);
        unrolled<tile_keys / 8>([&](auto n) {
            unrolled<2>([&](auto column) {
                const int j = 8 * n + 2 * r.pair() + column;
                const float of_key = p2c ? tables_.at(r, shared(layout_.key_table) + j * kKeyStride) : 0.0f;
                unrolled<2>([&](auto side) {
                    float& score = r.scores[n][2 * side + column];
                    score = score * scale() + of_query[side] + of_key;
                });
            });
        });
    }

    /// context += probabilities [16, tile_keys] values [tile_keys, width]: accumulators are left factors as they lie.
    constexpr void gather_values(const std::uint16_t* values) {
        unrolled<tile_keys / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            block_.each([](Lane& r) {
                const auto& first = r.scores[2 * kStep];
                const auto& second = r.scores[2 * kStep + 1];
                r.a[0][0] = packed<Scalar>(first[0], first[1]);
                r.a[0][1] = packed<Scalar>(first[2], first[3]);
                r.a[0][2] = packed<Scalar>(second[0], second[1]);
                r.a[0][3] = packed<Scalar>(second[2], second[3]);
            });
            unrolled<width / 16>([&](auto n) {
                operands_.multiply_down(
                    values, 16 * kStep, 16 * n, [](Lane& r) { return r.a[0]; },
                    [](Lane& r) { return &r.context[2 * decltype(n)::value]; });
            });
        });
    }

    constexpr void store() {
        block_.quad_sum([](Lane& r) -> float& { return r.sum[0]; });
        block_.quad_sum([](Lane& r) -> float& { return r.sum[1]; });
        Scalar* context = ForwardArguments<Scalar>::at(args_.context, query_tokens_, sample_, head_);
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto side) {
                const int i = i0_ + 16 * r.warp() + r.group() + 8 * side;
                if (i >= query_tokens_.count) return;
                // No visible key at all: zeros.  A sum that is not a number divides into numbers that are none.
                const float share = r.sum[side] == 0 ? 0.0f : 1 / r.sum[side];
                unrolled<width / 8>([&](auto n) {
                    block_.store_pair(
                        context + i * args_.context.row + 8 * n + 2 * r.pair(),
                        packed<Scalar>(r.context[n][2 * side] * share, r.context[n][2 * side + 1] * share));
                });
                if (args_.log_sum && r.pair() == 0)
                    args_.log_sum[(static_cast<long long>(sample_) * args_.heads + head_) * args_.queries + i] =
                        r.sum[side] == 0 ? -kNothing : (r.largest[side] + std::log2(r.sum[side])) * kLn2;
            });
        });
    }

    static constexpr int kKeyStride = key_table_stride(ForwardLayout::window_rows(tile_queries, tile_keys));

    Block& block_;
    Operands operands_;
    PositionTables<Scalar, width, kThreads, Block> tables_;
    const ForwardArguments<Scalar>& args_;
    const ForwardLayout layout_;
    int head_, sample_;
    Tokens query_tokens_, key_tokens_;
    int i0_;
    int row_stride_ = 0;
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
