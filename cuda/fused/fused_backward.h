#pragma once
// Fused disentangled attention backwards on tensor cores: one block of warps takes outer tokens in bands of 16 through
// all inner ones, tile by tile, and keeps both position terms and their gradients on the chip.  Around queries it gives
// dQ, around keys dK and dV.  Two warps share a band, each with one half of every tile: the tables leave room for one
// block on a multiprocessor, so its warps have to be many, and hide each other's waiting.
//
//   1. The outer tokens' position scores with every relative row that they reach, once: the outer table.
//   2. For a tile of inner tokens: their position scores, the inner table; the scores, as in forward; probabilities by
//      the logarithms of forward's sums; dS = P (dO V^T - delta); dS times inner tokens, and around keys P times dO.
//   3. The tile's dS, summed by relative row: neighbours, so that a lane runs along a token's pairs with one number and
//      writes every complete sum to the outer table, in the cell whose score has been used for the last time.
//   4. That table times the relative rows, the term's share of dQ or dK; and out with it, for dK_r or dQ_r.  The two
//      halves of every sum are added last.
//   A tile that reaches one row only adds its rows' sums and has no table to look into.
//
// No atomics; every sum has one order.  The text runs on the device and in tests, see fused_forward.h.
// Source: Dao et al. 2022, "FlashAttention", algorithm 4, cut in two so that every output has one writer.
#include "cuda/fused/arguments.h"
#include "cuda/fused/backward_steps.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/layout.h"
#include "cuda/fused/operand_rows.h"
#include "cuda/fused/position_scores.h"
#include "cuda/fused/row_sums.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width, int tile_inner, bool around_keys>
struct BackwardLane : LaneBase {
    std::uint32_t a[width / 16][4] = {};  // 16 tokens as left factors, or 16 rows of dS or P
    std::uint32_t b[4] = {};
    float scores[tile_inner / 16][4] = {};  // of half a tile; then probabilities, as dropout left them
    float grads[tile_inner / 16][4] = {};   // of the probabilities, then of the scores
    float lift[2] = {};                     // what the scores of a row lack, alike in the whole tile
    float table[4] = {};
    float d_tokens[width / 8][4] = {};
    float d_values[around_keys ? width / 8 : 1][4] = {};
    RunningRow<around_keys> running;
};

template <class Scalar, int width, int tile_outer, int tile_inner, bool around_keys, class Block>
class FusedBackward {
public:
    using Lane = BackwardLane<width, tile_inner, around_keys>;
    using Steps = BackwardSteps<Scalar, tile_outer, tile_inner, around_keys, Block>;
    static constexpr int kBands = Steps::kBands, kInner = Steps::kInner, kThreads = Steps::kThreads;
    static_assert(width % 32 == 0 && tile_outer % 16 == 0 && tile_inner % 32 == 0);

    /// capacity: relative rows for which there is room in the block's shared memory.
    constexpr FusedBackward(Block& block, const BackwardArguments<Scalar>& args, int capacity, int outer_block,
                            int head, int sample)
        : block_(block),
          operands_(block),
          tables_(block, args.forward.scale * kLog2e),
          sums_(block),
          side_{args},
          layout_(BackwardLayout::of(tile_outer, tile_inner, width, capacity, around_keys,
                                     side_.outer_rows() != nullptr, side_.inner_rows() != nullptr)),
          steps_(block, side_, layout_, head, sample, outer_block * tile_outer),
          head_(head),
          sample_(sample),
          outer_(side_.outer(sample)),
          inner_(side_.inner(sample)),
          outer0_(outer_block * tile_outer),
          stride_(outer_table_stride(round_up(capacity, 8), around_keys)) {}

    constexpr void run() {
        if (outer0_ >= outer_.count) return;
        load_outer();
        if (inner_.count > 0) {
            prefetch(0);
            for (int inner0 = 0, tile = 0; inner0 < inner_.count; inner0 += tile_inner, ++tile)
                attend(inner0, tile % 2);
        }
        if (side_.outer_rows()) finish_table();
        store();
    }

private:
    using Operands = OperandRows<Scalar, width, kThreads, Block>;
    static constexpr int kWindowRows = ForwardLayout::window_rows(tile_outer, tile_inner);
    static constexpr int kInnerStride = inner_table_stride(kWindowRows, around_keys);

    template <class Value = std::uint16_t>
    constexpr Value* shared(int bytes) const {
        return block_.template shared<Value>(bytes);
    }
    constexpr const Scalar* relative(const Scalar* table, int row) const {
        return table + (static_cast<long long>(head_) * side_.forward().table_rows + row) * width;
    }
    constexpr float scale() const { return side_.forward().scale * kLog2e; }

    constexpr void copy(int to, const Rows<const Scalar>& rows, const Tokens& tokens, int first, int count) {
        const Scalar* from = ForwardArguments<Scalar>::at(rows, tokens, sample_, head_) + first * rows.row;
        operands_.copy(shared(to), from, rows.row, count, tokens.count - first);
    }

    /// 1. The outer tokens, what is known of each, and their table.
    constexpr void load_outer() {
        copy(layout_.outer_tokens, side_.outer_tokens(), outer_, outer0_, tile_outer);
        copy(layout_.outer_values, side_.outer_values(), outer_, outer0_, tile_outer);
        steps_.note_outer();
        block_.arrive();
        if (!side_.outer_rows()) return;
        RowRange reached{0, 0};
        if (inner_.count > 0)
            reached = side_.forward().buckets.reached_by(side_.offsets(outer0_, 0, tile_outer, inner_.count, sample_));
        sums_.start(shared(layout_.outer_table), stride_, reached);
        load_left(layout_.outer_tokens);
        tables_.template fill_of_block<kBands>(
            shared(layout_.outer_table), stride_, shared(layout_.window), kWindowRows,
            relative(side_.outer_rows(), reached.first), reached.count, [](Lane & r) -> auto& { return r.a; });
    }

    constexpr void load_left(int tokens) {
        unrolled<width / 16>([&](auto step) {
            operands_.load_left(
                shared(tokens), [](Lane& r) { return Steps::first_row(r); },
                step, [=](Lane & r) -> auto& { return r.a[step]; });
        });
    }

    constexpr int buffer_at(int matrix, int buffer) const {
        return matrix + buffer * tile_inner * 2 * operand_stride(width);
    }
    constexpr void prefetch(int inner0) {
        const int buffer = inner0 / tile_inner % 2;
        copy(buffer_at(layout_.inner_tokens, buffer), side_.inner_tokens(), inner_, inner0, tile_inner);
        copy(buffer_at(layout_.inner_values, buffer), side_.inner_values(), inner_, inner0, tile_inner);
    }

    /// 2. One tile of inner tokens.  Inline: a call would put the lane's registers into memory.
    [[gnu::always_inline]] constexpr void attend(int inner0, int buffer) {
        const int tokens = buffer_at(layout_.inner_tokens, buffer), values = buffer_at(layout_.inner_values, buffer);
        const OffsetRange offsets = side_.offsets(outer0_, inner0, tile_outer, tile_inner, sample_);
        const bool positions = side_.outer_rows() || side_.inner_rows();
        const RowRange rows = positions ? side_.forward().buckets.reached_by(offsets) : RowRange{0, 1};
        if (side_.inner_rows())
            operands_.copy(shared(layout_.window), relative(side_.inner_rows(), rows.first), width,
                           round_up(rows.count, 8), rows.count);
        steps_.note_inner(inner0, offsets, rows);
        block_.arrive();
        if (inner0 + tile_inner < inner_.count) prefetch(inner0 + tile_inner);
        if (side_.inner_rows())
            tables_.template fill_of_tile<tile_inner>(
                shared(layout_.inner_table), kInnerStride, shared(tokens), shared(layout_.window), rows.count,
                [](Lane & r) -> auto& { return r.a; });
        multiply(
            layout_.outer_tokens, tokens, [](Lane & r) -> auto& { return r.scores; });
        multiply(
            layout_.outer_values, values, [](Lane & r) -> auto& { return r.grads; });
        block_.sync();
        const PositionScores from = position_scores(rows);
        const PositionSum<tile_inner, kInner, Block> sum{block_, scale(), from, rows};
        block_.each([&](Lane& r) {
            sum.add(r, r.scores, Steps::first_row(r) + r.group(), Steps::first_inner(r) + 2 * r.pair());
            steps_.differentiate(r, inner0);
        });
        if constexpr (around_keys)
            gather(
                values, [](Lane & r) -> auto& { return r.scores; }, [](Lane & r) -> auto& { return r.d_values; });
        gather(
            tokens, [](Lane & r) -> auto& { return r.grads; }, [](Lane & r) -> auto& { return r.d_tokens; });
        if (side_.outer_rows()) sum_by_row(rows);
        block_.sync();
    }

    /// The block's rows times a tile's.
    template <class Out>
    constexpr void multiply(int outer, int inner, Out out) {
        load_left(outer);
        block_.each([&](Lane& r) { unrolled<kInner / 8>([&](auto n) { clear(out(r)[n]); }); });
        unrolled<kInner / 8>([&](auto n) {
            operands_.multiply(
                shared(inner), [=](Lane& r) { return Steps::first_inner(r) + 8 * n; },
                [](Lane & r) -> auto& { return r.a; }, [&](Lane & r) -> auto& { return out(r)[n]; });
        });
    }

    constexpr PositionScores position_scores(const RowRange& rows) const {
        return {side_.outer_rows() ? shared(layout_.outer_table) : nullptr,
                stride_,
                sums_.reached().first,
                side_.inner_rows() ? shared(layout_.inner_table) : nullptr,
                kInnerStride,
                rows.first,
                shared(layout_.places)};
    }

    /// sums += factors [16, kInner] rows [kInner, width]: accumulators are left factors as they lie.
    template <class Of, class Sums>
    constexpr void gather(int rows, Of factors, Sums sums) {
        unrolled<kInner / 16>([&](auto step) {
            block_.each([&](Lane& r) {
                const auto& first = factors(r)[2 * step];
                const auto& second = factors(r)[2 * step + 1];
                r.a[0][0] = packed<Scalar>(first[0], first[1]);
                r.a[0][1] = packed<Scalar>(first[2], first[3]);
                r.a[0][2] = packed<Scalar>(second[0], second[1]);
                r.a[0][3] = packed<Scalar>(second[2], second[3]);
            });
            unrolled<width / 16>([&](auto n) {
                operands_.multiply_down(
                    shared(rows), [=](Lane& r) { return Steps::first_inner(r) + 16 * step; }, 16 * n,
                    [](Lane& r) { return r.a[0]; }, [&](Lane& r) { return &sums(r)[2 * n]; });
            });
        });
    }

    /// 3. The scores' gradients by relative row.
    constexpr void sum_by_row(RowRange rows) {
        if (rows.count == 1)
            sums_.add_row(rows.first, shared<float>(layout_.window));
        else
            sums_.add_places(shared<std::uint32_t>(layout_.window), shared(layout_.places));
    }

    /// 4. The table times the relative rows, and out with it.
    constexpr void finish_table() {
        sums_.finish();
        sums_.multiply(shared(layout_.window), kWindowRows, relative(side_.outer_rows(), sums_.reached().first));
        sums_.store(ForwardArguments<Scalar>::at(side_.table(), outer_, sample_, head_) + outer0_ * side_.table().row,
                    side_.table().row, outer_.count - outer0_, side_.args.reached.first, side_.args.columns);
    }

    constexpr void store() {
        // Where the tokens were, no thread reads any more.
        const HalfSums<width, kBands, Block> halves{block_, shared<float>(layout_.outer_tokens)},
            of_values{block_, halves.sums + tile_outer * width};
        static_assert((around_keys ? 2 : 1) * 4 * tile_outer * width <=
                      2 * operand_stride(width) * (2 * tile_outer + 4 * tile_inner));
        block_.each([&](Lane& r) {
            if (r.sharer(kBands) == 0) return;
            halves.hand_over(r, r.d_tokens);
            if constexpr (around_keys) of_values.hand_over(r, r.d_values);
        });
        block_.sync();
        block_.each([&](Lane& r) {
            if (r.sharer(kBands) != 0) return;
            halves.take_over(r, r.d_tokens);
            store_rows(r, side_.d_outer(), r.d_tokens, side_.forward().scale);
            if constexpr (around_keys) {
                of_values.take_over(r, r.d_values);
                store_rows(r, side_.args.d_v, r.d_values, 1);
            }
        });
    }
    template <class Numbers>
    constexpr void store_rows(const Lane& r, const Rows<Scalar>& rows, const Numbers& numbers, float factor) const {
        Scalar* to = ForwardArguments<Scalar>::at(rows, outer_, sample_, head_);
        unrolled<2>([&](auto below) {
            const int outer = outer0_ + Steps::first_row(r) + r.group() + 8 * below;
            if (outer >= outer_.count) return;
            unrolled<width / 8>([&](auto n) {
                block_.store_pair(to + outer * rows.row + 8 * n + 2 * r.pair(),
                                  packed<Scalar>(numbers[n][2 * below] * factor, numbers[n][2 * below + 1] * factor));
            });
        });
    }

    Block& block_;
    Operands operands_;
    PositionTables<Scalar, width, kThreads, Block> tables_;
    RowSums<Scalar, width, tile_inner, around_keys, kThreads, Block> sums_;
    const BackwardSide<Scalar, around_keys> side_;
    const BackwardLayout layout_;
    const Steps steps_;
    int head_, sample_;
    Tokens outer_, inner_;
    int outer0_, stride_;
};

}  // namespace locus::cuda
