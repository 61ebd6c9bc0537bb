#pragma once
// Fused disentangled attention backwards for Hopper: the algorithm of fused_backward.h, with products of whole
// warpgroups (wgmma) and the copy engine (TMA), as hopper_forward.h.  A warpgroup takes 64 outer tokens, which it holds
// as left factors with their values, through all inner ones, 64 at a time.  Around queries that gives dQ, around keys
// dK and dV.
//
//   1. The outer tokens' position scores with every relative row that they reach: the outer table.
//   2. Near the diagonal, tile by tile: the inner table, scores, probabilities and their derivatives, sums by relative
//      row (hopper_row_sums.h).
//   3. Far from it, where all pairs of many tiles share the first or the last row: the same without tables.  The
//      outer tokens add a number each, the inner ones are multiplied with outer token + row, which gives both scores at
//      once; the sums by row are two numbers of a lane.  No barrier of the block: warps let go of a stage, and one
//      thread has it filled.  A tile's gradients are multiplied together with the scores of the next tile.
//   4. The outer table, now of sums, times the relative rows; and out with it, for dK_r or dQ_r.
//
// No product is under way across a branch or the end of a loop.  No atomics; every sum has one order.
// Rounding: outer token + row is rounded as both have been, around queries to the very numbers of forward.
// Source: Dao et al. 2022, "FlashAttention", algorithm 4; Shah et al. 2024, "FlashAttention-3", section 3.
#include "cuda/fused/dropout.h"
#include "cuda/hopper/hopper_backward_output.h"
#include "cuda/hopper/hopper_backward_tables.h"
#include "cuda/hopper/hopper_row_sums.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width, bool around_keys>
struct HopperBackwardLane : LaneBase {
    std::uint32_t tokens[width / 16][4] = {}, values[width / 16][4] = {};  // of the warpgroup's outer tokens
    std::uint32_t factors[4][4] = {};                                      // gradients of a tile's scores
    std::uint32_t probs[around_keys ? 4 : 1][4] = {};                      // as dropout left them
    float scores[8][4] = {}, grads[8][4] = {};  // of a tile; then probabilities, and the gradients of the scores
    float lift[2] = {};                         // what the scores of a row lack, alike in the whole tile
    float log_sum[2] = {}, delta[2] = {};       // of the lane's two queries; around keys 0, and +inf of hidden keys
    float sums[2] = {};                         // of gradients whose pairs share a row
    float handed_on = 0;                        // such a sum of another lane
    std::uint32_t kept = 0;                     // a bit for each of the lane's pairs that dropout does not drop
    std::uint32_t ends = 0;                     // a bit for every pair of a lane's half token that ends its row
    int row = 0, row_before = 0;                // what shared memory will tell of the next tile
    std::uint32_t changes = 0;
    float of_column = 0;
    int first[2] = {}, last[2] = {};  // columns of the outer table that the two tokens reach
    float d_tokens[width / 8][4] = {};
    float d_values[around_keys ? width / 8 : 1][4] = {};
};

template <class Scalar, int width, int tile_outer, bool around_keys, class Block>
class HopperBackward {
public:
    using Lane = HopperBackwardLane<width, around_keys>;
    using Layout = HopperBackwardLayout;
    static constexpr int kInner = Layout::kInner, kThreads = 2 * tile_outer;
    static_assert(width % kPanelChannels == 0 && (tile_outer == 64 || tile_outer == 128));

    /// capacity: relative rows for which there is room in the block's shared memory.
    constexpr HopperBackward(Block& block, const BackwardArguments<Scalar>& args,
                             const BackwardMaps<typename Block::Map>& maps, int capacity, int outer_block, int head,
                             int sample)
        : block_(block),
          side_{args},
          layout_(Layout::of(tile_outer, width, capacity, around_keys, side_.outer_rows() != nullptr,
                             side_.inner_rows() != nullptr)),
          head_(head),
          sample_(sample),
          outer0_(outer_block * tile_outer),
          tiles_(side_, sample, outer0_),
          copies_(block, side_, maps, layout_, outer0_, head, sample),
          products_(block),
          tables_(block, side_, tiles_, layout_, capacity, head, sample),
          sums_(block, tiles_, layout_, tables_.outer_stride()),
          output_(block, side_, tiles_, head, sample, outer0_) {}

    [[gnu::always_inline]] constexpr void run() {
        if (outer0_ >= tiles_.outers()) return;
        RowRange reached{0, 0};
        if (tiles_.inners() > 0) {
            copies_.start();
            load_outer();
            if (side_.outer_rows()) {
                reached = tiles_.buckets().reached_by(side_.offsets(outer0_, 0, tile_outer, tiles_.inners(), sample_));
                // The table's columns are stored in pairs, so they begin at an even one of all.
                lead_ = (reached.first - side_.args.reached.first) % 2;
                reached = {reached.first - lead_, reached.count + lead_};
                sums_.start(reached);
                tables_.template fill_of_block<Lane>(copies_, reached);
            }
            const auto parts = tiles_.parts();
            // Each is called from one place, in which it is inline.
            for (int first = 0, end = parts.near; first < tiles_.count(); end = parts.complete) {
                attend_far_from(first, end);
                first = larger(first, end);
                const int next = first < parts.far ? parts.far : tiles_.count();
                attend_near(first, next);
                first = next;
            }
        }
        if (side_.outer_rows()) finish_table(reached);
        output_.template store<Lane>();
    }

private:
    using Copies = BackwardCopies<Scalar, width, tile_outer, around_keys, Block>;
    using Tiles = BackwardTiles<Scalar, tile_outer, around_keys>;
    static constexpr int kPanel = Copies::kPanel, kPanels = Copies::kPanels, kBox = Copies::kBox;

    template <class Value = std::uint16_t>
    constexpr Value* shared(int bytes) const {
        return block_.template shared<Value>(bytes);
    }
    static constexpr int outer_of(const Lane& r, int below) { return 16 * r.warp() + r.group() + 8 * below; }

    /// What was used of shared memory may be filled anew, by whomever.
    constexpr void let_all_go() {
        block_.fence_copies();
        block_.sync();
    }

    /// The outer tokens and values, and what is known of each.
    [[gnu::always_inline]] constexpr void load_outer() {
        copies_.bring_outer();
        copies_.wait_for_outer();
        products_.load_left([&](Lane& r) { return copies_.slot(block_.warpgroup(r)); },
                            [](Lane & r) -> auto& { return r.tokens; });
        products_.load_left([&](Lane& r) { return copies_.outer_values(block_.warpgroup(r)); },
                            [](Lane & r) -> auto& { return r.values; });
        let_all_go();
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto below) {
                const int outer = outer0_ + outer_of(r, below);
                r.log_sum[below] = around_keys ? tables_.hidden(outer) : tables_.log_sum_of(outer);
                r.delta[below] = around_keys ? 0.0f : tables_.delta_of(outer);
            });
        });
    }

    [[gnu::always_inline]] constexpr void ask_for_scores(int stage) {
        products_.multiply(
            copies_.tokens_of(stage), [](Lane & r) -> auto& { return r.tokens; },
            [](Lane & r) -> auto& { return r.scores; });
    }
    /// Gradients of the probabilities.
    [[gnu::always_inline]] constexpr void ask_for_grads(int stage) {
        products_.multiply(
            copies_.values_of(stage), [](Lane & r) -> auto& { return r.values; },
            [](Lane & r) -> auto& { return r.grads; });
    }
    [[gnu::always_inline]] constexpr void gather(int stage) {
        if constexpr (around_keys)
            products_.gather(
                copies_.values_of(stage), [](Lane & r) -> auto& { return r.probs; },
                [](Lane& r) { return r.d_values; });
        products_.gather(
            copies_.tokens_of(stage), [](Lane & r) -> auto& { return r.factors; }, [](Lane& r) { return r.d_tokens; });
    }

    /// Accumulators are left factors as they lie.
    static constexpr void pack(const float (&from)[8][4], std::uint32_t (&to)[4][4]) {
        unrolled<4>([&](auto step) {
            unrolled<4>([&](auto n) {
                const auto& pair = from[2 * step + n / 2];
                to[step][n] = packed<Scalar>(pair[n % 2 * 2], pair[n % 2 * 2 + 1]);
            });
        });
    }
    static constexpr void pack(Lane& r) {
        pack(r.grads, r.factors);
        if constexpr (around_keys) pack(r.scores, r.probs);
    }

    // 3. Far from the diagonal.

    [[gnu::always_inline]] constexpr void attend_far_from(int first, int end) {
        if (first >= end) return;
        const int most = layout_.tiles_of_columns(), row = tiles_.positions() ? tiles_.row_of(0, first * kInner) : 0;
        if (side_.inner_rows()) add_row_to_tokens(row);
        for (int begin = first; begin < end; begin += most) {
            const int before = smaller(begin + most, end);
            if (around_keys || side_.forward().visible_keys)
                attend_run<true>(begin, before, row);
            else
                attend_run<false>(begin, before, row);
        }
        if (side_.inner_rows() && end < tiles_.count()) take_tokens_again();
    }

    /// Each outer token, and the relative row that inner tokens meet.
    [[gnu::always_inline]] constexpr void add_row_to_tokens(int row) {
        const Scalar* of_inner =
            side_.inner_rows() + (static_cast<long long>(head_) * side_.forward().table_rows + row) * width;
        block_.each([&](Lane& r) {
            unrolled<width / 16>([&](auto step) {
                unrolled<4>([&](auto e) {
                    const Scalar* two = of_inner + channel_of(r, step, e);
                    std::uint32_t& token = r.tokens[step][e];
                    token = packed<Scalar>(lower<Scalar>(token) + to_float(two[0]),
                                           upper<Scalar>(token) + to_float(two[1]));
                });
            });
        });
    }
    /// The outer tokens as they were, from global memory: there are no registers to keep them in.
    [[gnu::always_inline]] constexpr void take_tokens_again() {
        const auto& rows = side_.outer_tokens();
        const Scalar* tokens = ForwardArguments<Scalar>::at(rows, side_.outer(sample_), sample_, head_);
        block_.each([&](Lane& r) {
            unrolled<width / 16>([&](auto step) {
                unrolled<4>([&](auto e) {
                    const int outer = smaller(outer0_ + outer_of(r, e % 2), tiles_.outers() - 1);
                    const Scalar* two = tokens + outer * rows.row + channel_of(r, step, e);
                    r.tokens[step][e] = packed<Scalar>(to_float(two[0]), to_float(two[1]));
                });
            });
        });
    }
    /// Of the first of two numbers in a left factor.
    static constexpr int channel_of(const Lane& r, int step, int e) { return 16 * step + e / 2 * 8 + 2 * r.pair(); }

    /// Tiles from `first` to before `end`.   by_column: inner tokens bring numbers along.
    template <bool by_column>
    [[gnu::always_inline]] constexpr void attend_run(int first, int end, int row) {
        let_all_go();
        for (int stage = 0; stage < smaller(Layout::kStages, end - first); ++stage)
            copies_.bring_tile(first + stage, stage);
        if constexpr (by_column) {
            tables_.template note_columns<Lane>(shared<ColumnPair>(layout_.inner_table), first * kInner, end - first);
            block_.sync();
        }
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto below) {
                r.lift[below] = tables_.lift_of(r, outer_of(r, below), row) - r.log_sum[below];
                r.sums[below] = 0;
            });
        });
        copies_.wait_for_tile(0);
        block_.fence_registers();
        ask_for_scores(0);
        block_.template wait_for_products<0>();
        int stage = 0;
        for (int number = first; number + 1 < end; ++number) {
            const int next = stage == 2 ? 0 : stage + 1;
            differentiate_far<by_column>(stage, number - first);
            if (number > first && number + 2 < end) copies_.bring_tile_when_used(number + 2, 3 - stage - next);
            copies_.wait_for_tile(next);
            block_.fence_registers();
            gather(stage);
            ask_for_scores(next);
            block_.template wait_for_products<0>();
            if (number + 3 < end) copies_.let_go(stage);
            stage = next;
        }
        differentiate_far<by_column>(stage, end - 1 - first);
        block_.fence_registers();
        gather(stage);
        block_.template wait_for_products<0>();
        if (!side_.outer_rows()) return;
        block_.sync();
        sums_.template add_row<Lane>(row, first * kInner, end * kInner);
    }

    /// Products become probabilities, beside the product of their gradients; then the scores' gradients, their sums and
    /// left factors.
    template <bool by_column>
    [[gnu::always_inline]] constexpr void differentiate_far(int stage, int tile_of_run) {
        const float scale = tables_.scale();
        const ColumnPair* columns = shared<ColumnPair>(layout_.inner_table) + tile_of_run * (kInner / 2);
        block_.fence_registers();
        ask_for_grads(stage);
        block_.each([&](Lane& r) {
            unrolled<8>([&](auto n) {
                ColumnPair at{};
                if constexpr (by_column) at = block_.load(r, columns + 4 * n + r.pair());
                unrolled<4>([&](auto e) {
                    float& score = r.scores[n][e];
                    score =
                        block_.exp2(score * scale + (by_column ? r.lift[e / 2] - at.log_sum[e % 2] : r.lift[e / 2]));
                });
            });
        });
        block_.template wait_for_products<0>();
        block_.each([&](Lane& r) {
            unrolled<8>([&](auto n) {
                ColumnPair at{};
                if constexpr (around_keys) at = block_.load(r, columns + 4 * n + r.pair());
                unrolled<4>([&](auto e) {
                    float& grad = r.grads[n][e];
                    grad = r.scores[n][e] * (grad - (around_keys ? at.delta[e % 2] : r.delta[e / 2]));
                    r.sums[e / 2] += grad;
                });
            });
            pack(r);
        });
    }

    // 2. Near the diagonal, and whatever else is not alike.

    [[gnu::always_inline]] constexpr void attend_near(int first, int end) {
        if (first >= end) return;
        let_all_go();
        BackwardTile tile = tiles_.at(first);
        bring_window(tile.rows);
        tables_.template prefetch<Lane>(tile);
        for (int number = first; number < smaller(first + 2, end); ++number)
            copies_.bring_tile(number, 1 + (number - first) % 2);
        for (int number = first; number < end; ++number) {
            const bool is_last = number + 1 == end;
            const BackwardTile next = is_last ? tile : tiles_.at(number + 1);
            const int stage = 1 + (number - first) % 2;
            attend(tile, next, stage, is_last);
            if (number + 2 < end) copies_.bring_tile(number + 2, stage);
            tile = next;
        }
    }

    constexpr void bring_window(const RowRange& rows) {
        if (!side_.inner_rows()) return;
        for (int n = 0; n < HopperLayout::boxes_of(rows.count); ++n) copies_.bring_inner_rows(rows.first, n);
    }

    /// One tile.  Inline: a call would put the lane's registers into memory.
    [[gnu::always_inline]] constexpr void attend(const BackwardTile& tile, const BackwardTile& next, int stage,
                                                 bool is_last) {
        tables_.template put<Lane>(tile);
        if (side_.forward().dropout > 0) draw(tile.inner0);
        copies_.wait_for_tile(stage);
        clear_absent(tile, stage);
        if (side_.inner_rows()) {
            tables_.template fill_of_tile<Lane>(copies_, tile.rows, stage, [&] { ask_for_scores(stage); });
        } else {
            block_.fence_registers();
            ask_for_scores(stage);
            block_.template wait_for_products<0>();
        }
        block_.fence_registers();
        ask_for_grads(stage);
        block_.template wait_for_products<0>();
        block_.sync();
        if (!is_last) {
            bring_window(next.rows);
            tables_.template prefetch<Lane>(next);
        }
        tables_.template add_positions<Lane>(tile);
        if (side_.forward().dropout > 0)
            differentiate<true>();
        else
            differentiate<false>();
        block_.fence_registers();
        gather(stage);
        block_.template wait_for_products<0>();
        if (side_.outer_rows()) sum_by_row(tile);
        block_.sync();
    }

    /// Beyond a packed sample's last token lie another sample's, and 0 times anything must be 0.
    constexpr void clear_absent(const BackwardTile& tile, int stage) {
        if (tiles_.is_complete(tile)) return;
        clear_rows(copies_.tokens_of(stage), tiles_.inners() - tile.inner0, kInner);
        clear_rows(copies_.values_of(stage), tiles_.inners() - tile.inner0, kInner);
        let_all_go();
    }
    constexpr void clear_rows(int box, int first, int end) {
        constexpr int kChunks = kPanelRow / 16;
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < (end - first) * kPanels * kChunks; n += kThreads) {
                const int row = first + n / (kPanels * kChunks), panel = n / kChunks % kPanels;
                block_.zero16(r, shared(box + panel * kPanel + row * kPanelRow + n % kChunks * 16));
            }
        });
    }

    /// Which of the tile's pairs dropout keeps, while no product needs the registers that it takes to say so.
    [[gnu::always_inline]] constexpr void draw(int inner0) {
        const auto& forward = side_.forward();
        const std::uint32_t key =
            dropout_key(forward.seed, static_cast<std::uint32_t>(sample_ * forward.heads + head_));
        const std::uint32_t threshold = dropout_threshold(forward.dropout);
        // Four draws side by side: of two tokens and two pairs, around keys of two tokens and both pairs' queries.
        constexpr int kColumns = around_keys ? 1 : 2;
        block_.each([&](Lane& r) {
            r.kept = 0;
            unrolled<8 / kColumns>([&](auto step) {
                TwoNumbers random[4];
                unrolled<4>([&](auto m) {
                    const int outer = outer0_ + outer_of(r, m % 2), inner = inner0 + 2 * r.pair();
                    random[m] = around_keys ? dropout_counter(inner + 8 * step + m / 2, outer / 2 * 2)
                                            : dropout_counter(outer, inner + 16 * step + 8 * (m / 2));
                });
                philox_together(random, key);
                unrolled<4>([&](auto m) {
                    const int odd = outer_of(r, m % 2) % 2;
                    if constexpr (around_keys) {
                        const bool keeps = (odd ? random[m].second : random[m].first) >= threshold;
                        r.kept |= std::uint32_t{keeps} << bit_of(step, m % 2, m / 2);
                    } else {
                        const int first = bit_of(2 * step + m / 2, m % 2, 0);
                        r.kept |= std::uint32_t{random[m].first >= threshold} << first |
                                  std::uint32_t{random[m].second >= threshold} << (first + 1);
                    }
                });
            });
        });
    }
    static constexpr int bit_of(int n, int below, int column) { return 4 * n + 2 * below + column; }

    /// Scores (with their lift) and the probabilities' gradients become probabilities and the scores' gradients.
    template <bool drops>
    [[gnu::always_inline]] constexpr void differentiate() {
        const float raised = drops ? 1 / (1 - side_.forward().dropout) : 1.0f;
        const ColumnPair* columns = shared<ColumnPair>(layout_.columns);
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto below) { r.lift[below] -= r.log_sum[below]; });
            unrolled<8>([&](auto n) {
                const ColumnPair at = block_.load(r, columns + 4 * n + r.pair());
                unrolled<2>([&](auto below) {
                    unrolled<2>([&](auto column) {
                        float &score = r.scores[n][2 * below + column], &grad = r.grads[n][2 * below + column];
                        const float factor = !drops || (r.kept >> bit_of(n, below, column) & 1) ? raised : 0.0f;
                        const float prob = block_.exp2(score - at.log_sum[column] + r.lift[below]);
                        grad = prob * (grad * factor - (around_keys ? at.delta[column] : r.delta[below]));
                        score = prob * factor;
                    });
                });
            });
            pack(r);
        });
    }

    [[gnu::always_inline]] constexpr void sum_by_row(const BackwardTile& tile) {
        block_.sync();
        if (tile.rows.count == 1) {
            block_.each([](Lane& r) {
                r.sums[0] = r.sums[1] = 0;
                unrolled<4>([&](auto step) {
                    unrolled<4>([&](auto n) {
                        const std::uint32_t two = r.factors[step][n];
                        r.sums[n % 2] += lower<Scalar>(two) + upper<Scalar>(two);
                    });
                });
            });
            sums_.template add_row<Lane>(tile.rows.first, tile.inner0, smaller(tile.inner0 + kInner, tiles_.inners()));
            return;
        }
        const auto is_linear = [&](const Lane& r) { return tables_.is_linear(r, tile); };
        block_.each([&](Lane& r) {
            if (is_linear(r))
                sums_.store_pairs(r);
            else
                sums_.hand_over(r);
        });
        block_.sync();
        sums_.template add_places<Lane>(tile, is_linear);
    }

    // 4. The table times the relative rows, and out with it.

    [[gnu::always_inline]] constexpr void finish_table(RowRange reached) {
        const int first = reached.count > 0 ? reached.first - side_.args.reached.first : 0;
        const int boxes = HopperLayout::boxes_of(reached.count);
        let_all_go();
        output_.template note_reached<Lane>(reached);
        for (int n = 0; n < smaller(boxes, Copies::kSlots); ++n) copies_.bring_outer_rows(reached.first, n);
        for (int n = 0; n < boxes; ++n) {
            copies_.wait_for_slot(n);
            const int rows = reached.count - n * Layout::kBoxRows;
            if (rows < Layout::kBoxRows || (n == 0 && lead_ > 0)) {
                if (rows < Layout::kBoxRows) clear_rows(copies_.slot(n), rows, Layout::kBoxRows);
                if (n == 0 && lead_ > 0) clear_rows(copies_.slot(n), 0, lead_);
                let_all_go();
            }
            output_.template take_sums<Lane>(sums_, n * Layout::kBoxRows, first + n * Layout::kBoxRows);
            block_.fence_registers();
            products_.gather(
                copies_.slot(n), [](Lane & r) -> auto& { return r.factors; }, [](Lane& r) { return r.d_tokens; });
            block_.template wait_for_products<0>();
            block_.sync();
            if (n + Copies::kSlots < boxes) copies_.bring_outer_rows(reached.first, n + Copies::kSlots);
        }
        output_.template store_zeros<Lane>(0, first);
        output_.template store_zeros<Lane>(first + boxes * Layout::kBoxRows, side_.args.columns);
    }

    Block& block_;
    const BackwardSide<Scalar, around_keys> side_;
    const Layout layout_;
    int head_, sample_, outer0_;
    int lead_ = 0;  // columns of the outer table before those that the block reaches
    const Tiles tiles_;
    Copies copies_;
    HopperProducts<Scalar, width, Block> products_;
    BackwardTables<Scalar, width, tile_outer, around_keys, Block> tables_;
    HopperRowSums<Scalar, tile_outer, around_keys, Block> sums_;
    const BackwardOutput<Scalar, width, tile_outer, around_keys, Block> output_;
};

}  // namespace locus::cuda
