#pragma once
// Fused disentangled attention, forward, for Hopper: the algorithm of fused_forward.h, with products of whole
// warpgroups (wgmma: 64 queries at a time, operands straight from shared memory) and the copy engine (TMA) that brings
// boxes of 64 rows while the tensor cores work.
//
//   1. c2p of the block's queries with every table row that they reach, once: the row table.  The rows come in boxes
//      through the window, each slot of which is filled again as soon as it was used.
//   2. For a tile of 64 keys: p2c of its keys with the rows that the tile reaches, the boxes shared out among the
//      warpgroups: the key table; the sum with q k^T by the tile's places; softmax; p v.
//   A tile that reaches one row only (far from the diagonal) adds a number per query and a number per key, and finds
//   its row in the window already.
//
// What runs beside what: keys and values of the next tile are on their way during a whole tile, rows of the next window
// from the moment that the key table is made; q k^T of the next tile, and the number per key where that is all it
// needs, are multiplied beside the softmax.  No product is under way across a branch or the end of the loop: ptxas then
// gives up on overlap and says so (C7510 and its neighbours; it must say nothing here). Accumulators lie as those of
// mma.m16n8k16 do, warp by warp, so all that happens between the products is fused_forward.h's (forward_steps.h,
// online_softmax.h).
//
// Written for whatever `Block` is: hopper_block.h on the device; in tests a block of emulated warpgroups, which decodes
// the descriptors, plays the copy engine and its barriers, and refuses what a device would get wrong now and then.
// Open steps: warpgroups that only copy; p v of one warpgroup against the softmax of the other by named barriers; the
// whole key table of the next tile beside the softmax too; more than 64 queries where 1024 table rows leave no room for
// a row table of 128.
// Source: Shah et al. 2024, "FlashAttention-3", sections 3.1 and 3.2, for products that overlap the softmax; the PTX
// sources are in hopper_operands.h.
#include "cuda/forward_steps.h"
#include "cuda/hopper_copies.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width>
struct HopperLane : LanePlace {
    std::uint32_t q[width / 16][4] = {};  // 64 queries of the warpgroup as left factors
    std::uint32_t p[4][4] = {};           // their probabilities of a tile
    float asked[8][4] = {};               // q k^T of the tile, then already of the next one
    float scores[8][4] = {};              // pieces of the tables; then scores, and what the softmax makes of them
    float constant[4] = {};               // p2c of the next tile's keys with the one row that they reach
    float context[width / 8][4] = {};
    float lift[2] = {};  // what the scores of a query lack, alike in the whole tile
    float largest[2] = {}, tile_largest[2] = {}, sum[2] = {};
};

template <class Scalar, int width, int tile_queries, class Block>
class HopperForward {
public:
    using Lane = HopperLane<width>;
    using Layout = HopperLayout;
    static constexpr int kTileKeys = Layout::kTileKeys, kWarpgroups = tile_queries / 64, kThreads = 128 * kWarpgroups;
    static_assert(width % kPanelChannels == 0 && tile_queries % 64 == 0);

    /// capacity: table rows for which there is room in the block's shared memory.
    constexpr HopperForward(Block& block, const ForwardArguments<Scalar>& args,
                            const ForwardMaps<typename Block::Map>& maps, int capacity, int query_block, int head,
                            int sample)
        : block_(block),
          steps_(block, args, query_block, head, sample),
          args_(args),
          layout_(Layout::of(tile_queries, width, capacity, args.k_r != nullptr, args.q_r != nullptr)),
          copies_(block, args, maps, layout_, steps_.i0, head, sample),
          row_stride_(row_table_stride(round_up(capacity, 8))) {}

    constexpr void run() {
        const int queries = steps_.query_tokens.count, keys = steps_.key_tokens.count;
        if (steps_.i0 >= queries) return;
        block_.each([](Lane& r) { r.largest[0] = r.largest[1] = kNothing; });
        if (keys > 0) {
            copies_.start();
            for (int stage = 0; stage < Layout::kStages; ++stage) {
                copies_.bring_keys(stage);
                copies_.bring_values(stage);
            }
            load_queries();
            if (args_.k_r)
                fill_row_table(args_.line.reached_by(offsets_of_block(steps_.i0, tile_queries, queries, keys)));
            const ForwardTile first = steps_.tile_at(0);
            if (args_.q_r) copies_.bring_window(first);
            copies_.wait_for_keys(0);
            block_.fence_registers();
            ask_for_scores(0);
            block_.template wait_for_products<0>();
            attend_to_all(first);
        }
        steps_.template store<Lane>();
    }

private:
    using Steps = ForwardSteps<Scalar, width, tile_queries, kTileKeys, Block>;
    using Held = typename Block::HeldFactors;
    using Shared = typename Block::SharedFactors;
    using Copies = HopperCopies<Scalar, width, tile_queries, Block>;
    static constexpr int kBox = Copies::kBox, kPanel = Copies::kPanel, kPanels = Copies::kPanels;
    static constexpr int kKeyStride = Layout::key_stride(tile_queries);

    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }

    /// Queries as left factors, for the whole block's life.
    constexpr void load_queries() {
        copies_.bring_queries();
        for (int n = 0; n < kWarpgroups; ++n) copies_.wait_for_slot(n);
        unrolled<width / 16>([&](auto step) {
            block_.template load_matrices<false>([&](Lane& r) {
                const int matrix = r.lane() / 8, row = r.warp() % 4 * 16 + matrix % 2 * 8 + r.lane() % 8;
                const int channel = 16 * decltype(step)::value + matrix / 2 * 8;
                const int box = copies_.slot(block_.warpgroup(r)) + channel / kPanelChannels * kPanel;
                return std::pair(shared(box + place_in_panel(row, channel % kPanelChannels)),
                                 &r.q[decltype(step)::value][0]);
            });
        });
        block_.fence_copies();
        block_.sync();
    }

    // Products.

    /// 1. Every row of the table that the block reaches.
    constexpr void fill_row_table(RowRange reached) {
        reached_ = reached;
        const int boxes = Layout::boxes_of(reached.count);
        for (int n = 0; n < smaller(boxes, Copies::kSlots); ++n) copies_.bring_rows(reached.first, n);
        for (int n = 0; n < boxes; ++n) {
            copies_.wait_for_slot(n);
            block_.fence_registers();
            multiply_queries(
                copies_.slot(n), [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
            block_.each([&](Lane& r) {
                unrolled<8>([&](auto c) {
                    const int column = n * Layout::kBoxRows + 8 * c;
                    if (column < reached.count)
                        keep_piece(block_, r, r.scores[c], steps_.scale(), shared(layout_.row_table), row_stride_,
                                   16 * r.warp(), column);
                });
            });
            block_.sync();
            if (n + Copies::kSlots < boxes) copies_.bring_rows(reached.first, n + Copies::kSlots);
        }
    }

    /// c[64, 64] = queries of the warpgroup times the 64 rows of a box, as a group of products.
    template <class C>
    constexpr void multiply_queries(int box, C c) {
        unrolled<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t rows = advanced(rows_descriptor(block_.address(box)), channels_of_step(kStep));
            block_.template multiply_held<Scalar, false, (kStep > 0)>([&](Lane& r) {
                return Held{r.q[kStep], rows, c(r)};
            });
        });
        block_.commit_products();
    }
    static constexpr int channels_of_step(int step) {
        return 16 * step / kPanelChannels * kPanel + 16 * step % kPanelChannels / 16 * kStepOfChannels;
    }

    constexpr void ask_for_scores(int number) {
        multiply_queries(
            copies_.keys_of(number), [](Lane & r) -> auto& { return r.asked; });
    }

    /// 2. p2c of the keys of tile `number`.
    constexpr void fill_key_table(const ForwardTile& tile, int number) {
        const int keys = copies_.keys_of(number);
        copies_.wait_for_window();
        if (tile.rows.count == 1) {
            block_.fence_registers();
            ask_for_constants(number);
            block_.template wait_for_products<0>();
            keep_constants(number);
            return;
        }
        // The boxes of the window are shared out among the warpgroups.  All multiply; where there are fewer boxes some
        // do what another does, and keep nothing.
        const int boxes = Layout::boxes_of(tile.rows.count);
        for (int first = 0; first < boxes; first += kWarpgroups) {
            block_.fence_registers();
            multiply_keys<64>(
                keys, [&](Lane& r) { return kBox * smaller(first + block_.warpgroup(r), boxes - 1); },
                [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
            block_.each([&](Lane& r) {
                unrolled<8>([&](auto c) {
                    const int column = Layout::kBoxRows * (first + block_.warpgroup(r)) + 8 * c;
                    if (column < tile.rows.count) keep_keys(r, r.scores[c], column);
                });
            });
        }
    }
    /// Of a tile that reaches one row.  Every warpgroup multiplies 8 columns, of which the first is used.
    constexpr void ask_for_constants(int number) {
        multiply_keys<8>(
            copies_.keys_of(number), [](Lane&) { return 0; }, [](Lane& r) { return &r.constant; });
    }
    /// They alternate between two places: somebody may still read those of the tile before.
    static constexpr int column_of_constants(int number) { return 8 * (number % 2); }
    constexpr void keep_constants(int number) {
        block_.each([&](Lane& r) {
            if (block_.warpgroup(r) == 0) keep_keys(r, r.constant, column_of_constants(number));
        });
    }
    /// c[64, columns] = the tile's keys times rows of the window, from its byte `first` on, as a group of products.
    template <int columns, class First, class C>
    constexpr void multiply_keys(int keys, First first, C c) {
        unrolled<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t left = rows_descriptor(block_.address(keys)),
                                right = rows_descriptor(block_.address(copies_.slot(0)));
            block_.template multiply_shared<Scalar, columns, (kStep > 0)>([&](Lane& r) {
                return Shared{advanced(left, channels_of_step(kStep)),
                              advanced(right, first(r) + channels_of_step(kStep)), c(r)};
            });
        });
        block_.commit_products();
    }
    constexpr void keep_keys(Lane& r, const float (&piece)[4], int column) {
        keep_piece(block_, r, piece, steps_.scale(), shared(layout_.key_table), kKeyStride, r.warp() % 4 * 16, column);
    }

    /// Probabilities as left factors.
    constexpr void pack() {
        block_.each([](Lane& r) {
            unrolled<4>([&](auto step) { Steps::template pack_probabilities<decltype(step)::value>(r, r.p[step]); });
        });
    }

    /// context += probabilities values.
    constexpr void gather_values(int values) {
        unrolled<kTileKeys / 16>([&](auto step) {
            unrolled<kPanels>([&](auto panel) {
                const std::uint64_t channels =
                    advanced(channels_descriptor(block_.address(values)), panel * kPanel + step * kStepOfRows);
                block_.template multiply_held<Scalar, true, true>([&](Lane& r) {
                    return Held{r.p[decltype(step)::value], channels, r.context + 8 * panel};
                });
            });
        });
        block_.commit_products();
    }

    // 2. Tiles of keys.

    constexpr void attend_to_all(ForwardTile tile) {
        bool has_constants = false;
        for (int number = 0; number < copies_.tiles(); ++number) {
            const bool is_last = number + 1 == copies_.tiles();
            const ForwardTile next = is_last ? tile : steps_.tile_at(tile.j0 + kTileKeys);
            std::uint8_t* visible = block_.template shared<std::uint8_t>(layout_.visible);
            steps_.note_places(tile, shared(layout_.places), visible);
            if (args_.q_r && !has_constants) fill_key_table(tile, number);
            copies_.wait_for_values(number);
            clear_absent_values(tile, copies_.values_of(number));
            // Where the constants were there and no key is missing, nobody has written anything since the last barrier.
            if (!has_constants || !steps_.sees_all(tile)) block_.sync();
            // Everybody is done with these keys and this window.
            if (args_.q_r && !is_last) copies_.bring_window(next);
            copies_.bring_keys(number + Layout::kStages);
            block_.each([&](Lane& r) {
                steps_.add_positions(r, r.asked, tile, position_scores(tile, number));
                if (!steps_.sees_all(tile)) hide<kTileKeys>(block_, r, visible);
            });
            // Both reach the same row alone: it stays in the window, and nobody reads the whole key table.
            has_constants = block_.uniform(args_.q_r && !is_last && args_.dropout == 0 && tile.rows.count == 1 &&
                                           next.rows.count == 1 && next.rows.first == tile.rows.first);
            if (!is_last) copies_.wait_for_keys(number + 1);
            if (is_last || args_.dropout > 0)
                gather_and_ask(number, tile, is_last);
            else if (has_constants)
                ask_beside_softmax<true>(number);
            else
                ask_beside_softmax<false>(number);
            block_.sync();
            copies_.bring_values(number + Layout::kStages);
            tile = next;
        }
    }

    /// q k^T of the next tile, and its constants, beside the softmax of this one; then p v.  No branch in between.
    template <bool with_constants>
    constexpr void ask_beside_softmax(int number) {
        block_.fence_registers();
        ask_for_scores(number + 1);
        if constexpr (with_constants) ask_for_constants(number + 1);
        soften<width, kTileKeys, Lane>(block_);
        pack();
        block_.fence_registers();
        gather_values(copies_.values_of(number));
        block_.template wait_for_products<0>();
        if constexpr (with_constants) keep_constants(number + 1);
    }

    /// The same one after the other: random numbers are drawn in loops, and the last tile has no next.
    constexpr void gather_and_ask(int number, const ForwardTile& tile, bool is_last) {
        soften<width, kTileKeys, Lane>(block_);
        if (args_.dropout > 0) block_.each([&](Lane& r) { steps_.drop_some(r, tile); });
        pack();
        if (is_last) {
            block_.fence_registers();
            gather_values(copies_.values_of(number));
            block_.template wait_for_products<0>();
        } else {
            block_.fence_registers();
            gather_values(copies_.values_of(number));
            ask_for_scores(number + 1);
            block_.template wait_for_products<0>();
        }
    }

    /// Beyond a packed sample's last key lie another sample's values, and 0 times anything must be 0.
    constexpr void clear_absent_values(const ForwardTile& tile, int values) {
        const int valid = steps_.key_tokens.count - tile.j0;
        if (valid >= kTileKeys) return;
        constexpr int kChunks = kPanelRow / 16;
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < (kTileKeys - valid) * kPanels * kChunks; n += kThreads) {
                const int row = valid + n / (kPanels * kChunks), panel = n / kChunks % kPanels;
                block_.zero16(r, shared(values + panel * kPanel + row * kPanelRow + n % kChunks * 16));
            }
        });
        block_.fence_copies();
    }

    constexpr PositionScores position_scores(const ForwardTile& tile, int number) const {
        const int constants = tile.rows.count == 1 ? column_of_constants(number) : 0;
        return {args_.k_r ? shared(layout_.row_table) : nullptr,
                row_stride_,
                reached_.first,
                args_.q_r ? shared(layout_.key_table) + constants : nullptr,
                kKeyStride,
                tile.rows.first,
                shared(layout_.places)};
    }

    Block& block_;
    Steps steps_;
    const ForwardArguments<Scalar>& args_;
    const HopperLayout layout_;
    Copies copies_;
    int row_stride_;
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
