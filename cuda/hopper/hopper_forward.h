#pragma once
// Fused disentangled attention, forward, for Hopper: the algorithm of fused_forward.h, with products of whole
// warpgroups (wgmma: 64 queries at a time, operands straight from shared memory) and the copy engine (TMA) that brings
// boxes of 64 rows while the tensor cores work.
//
//   1. c2p of the block's queries with every table row that they reach, once: the row table.  The rows come in boxes
//      through the window, each slot of which is filled again as soon as it was used.  Where they are more than the
//      table has room for (1024 rows of deberta-v1), it is made for a run of tiles at a time, and anew for the next
//      run.
//   2. Tiles of 64 keys far from the diagonal, where all pairs reach one row: p2c is every key times that row, so that
//      (q + row) k^T holds both c2c and p2c, and c2p is a number per query.  What is left is a softmax like any other:
//      no table, and no barrier of the whole block; a warpgroup may be ahead of the other by a tile.
//   3. Tiles near the diagonal: p2c of the tile's keys with the rows that the warpgroup reaches: the key table; the sum
//      with q k^T by the tile's places; softmax; p v.
//
// What runs beside what: keys and values of the next tile are in flight during a whole tile.  Far from the diagonal p v
// of a tile is multiplied beside the softmax of the next one; near it q k^T is multiplied beside the key table, and
// rows of the next window are in flight from the moment that this table is made.  A warpgroup shares nothing that it
// writes with the other, so that one multiplies while the other adds.  No product is under way across a branch or the
// end of a loop: ptxas then gives up on overlap and says so (C7510 and its neighbours; it must say nothing here).
// Accumulators lie as those of mma.m16n8k16 do, warp by warp, so all that happens between the products is
// fused_forward.h's (forward_steps.h, online_softmax.h).
//
// Rounding: q + row is rounded as q and row have been; everything else as in fused_forward.h.
//
// Written for whatever `Block` is: hopper_block.h on the device; in tests a block of emulated warpgroups, which decodes
// the descriptors, plays the copy engine and its barriers, and refuses what a device would get wrong now and then.
// Source: Shah et al. 2024, "FlashAttention-3", sections 3.1 and 3.2, for products that overlap the softmax; the PTX
// sources are in hopper_layout.h.
#include "cuda/fused/forward_steps.h"
#include "cuda/hopper/hopper_copies.h"
#include "cuda/hopper/hopper_tables.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width>
struct HopperLane : LaneBase {
    std::uint32_t q[width / 16][4] = {};    // 64 queries of the warpgroup as left factors
    std::uint32_t far[width / 16][4] = {};  // the same, and the row that all keys of a tile reach
    std::uint32_t p[4][4] = {};             // their probabilities of a tile
    float asked[8][4] = {};                 // near the diagonal: q k^T of the tile
    float scores[8][4] = {};                // pieces of the tables; then scores, and what the softmax makes of them
    float context[width / 8][4] = {};
    int place = 0;                  // near the diagonal: the relative row at the lane's place of the next tile
    std::uint32_t looked[2] = {};   // where keys are hidden: what the mask says of two keys of the next tile
    std::uint32_t visible[2] = {};  // the same of the warp's 64, a bit each
    float lift[2] = {};             // what the scores of a query lack, alike in the whole tile
    float largest[2] = {}, tile_largest[2] = {}, shrink[2] = {}, sum[2] = {};
};

template <class Scalar, int width, int tile_queries, class Block>
class HopperForward {
public:
    using Lane = HopperLane<width>;
    using Layout = HopperLayout;
    static constexpr int kTileKeys = Layout::kTileKeys, kWarpgroups = tile_queries / 64;
    static constexpr int kThreads = 128 * kWarpgroups;  // beside the warp that asks for copies
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
          products_(block),
          tables_(block, args, layout_, capacity),
          capacity_(capacity) {}

    [[gnu::always_inline]] constexpr void run() {
        const int queries = steps_.query_tokens.count, keys = steps_.key_tokens.count;
        if (steps_.i0 >= queries) return;
        block_.each([](Lane& r) { r.largest[0] = r.largest[1] = kNothing; });
        if (keys > 0) {
            copies_.start();
            copies_.bring_keys(0);
            load_queries();
            attend();
        }
        steps_.template store<Lane>();
    }

private:
    using Steps = ForwardSteps<Scalar, width, tile_queries, kTileKeys, Block>;
    using Copies = HopperCopies<Scalar, width, tile_queries, Block>;
    using Near = NearTile<kWarpgroups>;
    static constexpr int kPanel = Copies::kPanel, kPanels = Copies::kPanels;

    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }

    /// Queries as left factors, for the whole block's life.
    constexpr void load_queries() {
        copies_.bring_queries();
        copies_.wait_for_boxes(kWarpgroups);
        products_.load_left([&](Lane& r) { return copies_.box(block_.warpgroup(r)); },
                            [](Lane & r) -> auto& { return r.q; });
        block_.fence_copies();
        block_.sync_warpgroup();  // a lane that lets go speaks for its warp, and these were loads of every lane
        copies_.let_go_of_boxes(kWarpgroups);
    }

    /// Tiles that may reach more than one row; all before them reach the table's last row, all after them its first.
    struct NearTiles {
        int first, end;
    };
    constexpr NearTiles near_tiles() const {
        const int tiles = copies_.tiles(), i0 = steps_.i0,
                  last_query = smaller(i0 + tile_queries, steps_.query_tokens.count) - 1;
        if (args_.dropout > 0) return {0, tiles};  // numbers are drawn in loops
        if (!steps_.positions()) return {tiles, tiles};
        // The tile's last key is far enough before the first query; its first key far enough after the last query.
        const long long before = static_cast<long long>(i0) - args_.buckets.upper_end + 1,
                        after = static_cast<long long>(last_query) - args_.buckets.lower_end + kTileKeys - 1;
        const auto as_tile = [&](long long keys) {
            return static_cast<int>(keys < 0 ? 0 : keys / kTileKeys > tiles ? tiles : keys / kTileKeys);
        };
        const int first = as_tile(before);
        return {first, larger(first, as_tile(after))};
    }

    /// All tiles in their order.  Each part is called from one place, in which it is inline.
    [[gnu::always_inline]] constexpr void attend() {
        const NearTiles near = near_tiles();
        const OffsetRange offsets = offsets_of_tiles(0, copies_.tiles());
        for (int first = 0, table_end = 0; first < copies_.tiles();) {
            if (first >= table_end) {
                table_end = end_of_table(first, near);
                if (args_.k_r)
                    tables_.template fill_of_block<Lane>(copies_,
                                                         args_.buckets.reached_by(offsets_of_tiles(first, table_end)));
            }
            const bool is_before = first < near.first;
            const int far_end = is_before ? near.first : first < near.end ? first : copies_.tiles();
            attend_far(first, far_end, is_before ? offsets.last : offsets.first);
            const int near_end = larger(far_end, smaller(near.end, table_end));
            attend_near(far_end, near_end);
            first = near_end;
        }
    }

    /// Of tiles from `first` to before `end`.
    constexpr OffsetRange offsets_of_tiles(int first, int end) const {
        return offsets_of_tile(steps_.i0, first * kTileKeys, tile_queries, (end - first) * kTileKeys,
                               steps_.query_tokens.count, steps_.key_tokens.count);
    }

    /// Where a row table that begins with tile `first` has no room for more.  Tiles far from the diagonal reach no row
    /// that their neighbours near it do not reach.
    constexpr int end_of_table(int first, NearTiles near) const {
        const int tiles = copies_.tiles();
        if (!args_.k_r || args_.buckets.reached_by(offsets_of_tiles(first, tiles)).count <= capacity_) return tiles;
        const int end = larger(first, near.first) + Layout::tiles_of_rows(capacity_, tile_queries);
        return end < near.end ? end : tiles;
    }

    // 2. Far from the diagonal.

    /// Tiles from `first` to before `end`, all of whose pairs have the row of that offset.
    [[gnu::always_inline]] constexpr void attend_far(int first, int end, int offset) {
        if (first >= end) return;
        const int row = steps_.positions() ? args_.buckets.row(offset) : 0;
        block_.each([&](Lane& r) {
            add_row_to_queries(r, row);
            tables_.read_row(r, row, r.lift);
        });
        // Tiles without a hidden or missing key, and the others.
        const int seen_end = args_.visible_keys ? first : end - (end * kTileKeys > steps_.key_tokens.count);
        attend_to_run<false>(first, seen_end);
        attend_to_run<true>(seen_end, end);
    }

    /// far = q + a row of q_r, in the places of the fragment.
    constexpr void add_row_to_queries(Lane& r, int row) const {
        const Scalar* of_keys =
            args_.q_r ? args_.q_r + (static_cast<long long>(steps_.head) * args_.table_rows + row) * width : nullptr;
        unrolled<width / 16>([&](auto step) {
            unrolled<4>([&](auto e) {
                r.far[step][e] = r.q[step][e];
                if (!of_keys) return;
                const Scalar* two = of_keys + 16 * step + e / 2 * 8 + 2 * r.pair();
                r.far[step][e] = packed<Scalar>(lower<Scalar>(r.q[step][e]) + to_float(two[0]),
                                                upper<Scalar>(r.q[step][e]) + to_float(two[1]));
            });
        });
    }

    template <bool hides>
    [[gnu::always_inline]] constexpr void attend_to_run(int first, int end) {
        if (first >= end) return;
        copies_.bring_keys(first + 1);
        copies_.bring_values(first);
        if constexpr (hides) look_at_keys(first);
        copies_.wait_for_keys(first);
        block_.fence_registers();
        ask_far(first);
        block_.template wait_for_products<0>();
        copies_.let_go_of_keys(first);
        if constexpr (hides) hide(first);
        exponentiate_scores<kTileKeys, Lane>(block_, steps_.scale());
        shrink_context<width, Lane>(block_);
        pack();
        for (int number = first; number + 1 < end; ++number) {
            copies_.bring_keys(number + 2);
            copies_.bring_values(number + 1);
            if constexpr (hides) look_at_keys(number + 1);
            copies_.wait_for_keys(number + 1);
            wait_for_values<hides>(number);
            block_.fence_registers();
            ask_far(number + 1);
            gather(number);
            block_.template wait_for_products<1>();
            copies_.let_go_of_keys(number + 1);
            if constexpr (hides) hide(number + 1);
            exponentiate_scores<kTileKeys, Lane>(block_, steps_.scale());
            block_.each([&](Lane& r) { block_.settle(r, layout_.scratch, r.sum[0] + r.sum[1]); });
            block_.template wait_for_products<0>();
            copies_.let_go_of_values(number);
            shrink_context<width, Lane>(block_);
            pack();
        }
        wait_for_values<hides>(end - 1);
        block_.fence_registers();
        gather(end - 1);
        block_.template wait_for_products<0>();
        copies_.let_go_of_values(end - 1);
    }

    constexpr void ask_far(int number) {
        products_.multiply(
            copies_.keys_of(number), [](Lane & r) -> auto& { return r.far; },
            [](Lane & r) -> auto& { return r.scores; });
    }
    template <bool may_be_cut>
    constexpr void wait_for_values(int number) {
        copies_.wait_for_values(number);
        if (may_be_cut && number * kTileKeys + kTileKeys > steps_.key_tokens.count) {
            clear_absent_values(number);
            block_.sync();
        }
    }
    /// What the mask says of a tile's keys, on its way from global memory until they are hidden.
    constexpr void look_at_keys(int number) {
        block_.each([&](Lane& r) {
            unrolled<2>(
                [&](auto half) { r.looked[half] = steps_.visibility(number * kTileKeys + 32 * half + r.lane()); });
        });
    }
    /// Without a word in shared memory, so that no warp waits for another, and without a branch.
    constexpr void hide(int number) {
        unrolled<2>([&](auto half) {
            block_.vote(
                [&](Lane& r) {
                    return r.looked[half] != 0 && number * kTileKeys + 32 * half + r.lane() < steps_.key_tokens.count;
                },
                [half](Lane & r) -> auto& { return r.visible[half]; });
        });
        block_.each([&](Lane& r) {
            unrolled<kTileKeys / 8>([&](auto n) {
                const std::uint32_t pair = r.visible[n / 4] >> (2 * r.pair()) >> (8 * (n % 4));
                unrolled<2>([&](auto column) {
                    const bool sees = (pair >> column & 1) != 0;
                    unrolled<2>([&](auto below) {
                        float& score = r.scores[n][2 * below + column];
                        score = sees ? score : kNothing;
                    });
                });
            });
        });
    }

    // 3. Near the diagonal.

    [[gnu::always_inline]] constexpr void attend_near(int first, int end) {
        if (first >= end) return;
        copies_.bring_keys(first + 1);
        copies_.bring_values(first);
        Near tile = near_tile(first);
        find_places(first);
        bring_window(tile);
        for (int number = first; number < end; ++number) {
            const int after = smaller(number + 1, end - 1);
            const Near next = near_tile(after);
            if (after > number) copies_.bring_values(after);
            block_.each([&](Lane& r) { tables_.store_place(r); });
            look_at_keys(number);
            find_places(after);
            multiply_keys(tile, number);
            wait_for_values<true>(number);
            block_.sync_warpgroup();
            if (after > number) {
                bring_window(next);
                copies_.bring_keys(number + 2);
            }
            add_positions(tile, number);
            online_softmax_step<width, kTileKeys, Lane>(block_);
            if (args_.dropout > 0) block_.each([&](Lane& r) { steps_.drop_some(r, number * kTileKeys); });
            pack();
            block_.fence_registers();
            gather(number);
            block_.template wait_for_products<0>();
            copies_.let_go_of_values(number);
            block_.sync_warpgroup();
            tile = next;
        }
    }

    /// q k^T, and beside it the key table.
    constexpr void multiply_keys(const Near& tile, int number) {
        const auto multiply_queries = [&] {
            products_.multiply(
                copies_.keys_of(number), [](Lane & r) -> auto& { return r.q; },
                [](Lane & r) -> auto& { return r.asked; });
        };
        copies_.wait_for_keys(number);
        if (args_.q_r) {
            tables_.template fill_of_tile<Lane>(copies_, tile, number, multiply_queries);
        } else {
            block_.fence_registers();
            multiply_queries();
            block_.template wait_for_products<0>();
        }
        copies_.let_go_of_keys(number);
    }

    constexpr Near near_tile(int number) const {
        Near tile{};
        if (!steps_.positions()) return tile;
        for (int g = 0; g < kWarpgroups; ++g)
            tile.rows[g] =
                static_cast<std::uint32_t>(row_at(number, 64 * g) | row_at(number, 64 * g + 64 + kTileKeys - 2) << 16);
        return tile;
    }
    /// The relative row at a place of the block's tile.
    constexpr int row_at(int number, int place) const {
        const int j0 = number * kTileKeys;
        const OffsetRange offsets =
            offsets_of_tile(steps_.i0, j0, tile_queries, kTileKeys, steps_.query_tokens.count, steps_.key_tokens.count);
        return args_.buckets.row(offset_at_place(place, steps_.i0, j0, kTileKeys, offsets));
    }
    /// On their way from global memory during a whole tile.
    constexpr void find_places(int number) {
        if (!steps_.positions()) return;
        block_.each([&](Lane& r) { r.place = row_at(number, 64 * block_.warpgroup(r) + r.thread % 128); });
    }
    /// Rows of q_r that a tile reaches.
    constexpr void bring_window(const Near& tile) {
        if (!args_.q_r) return;
        for (int n = 0; n < tile.boxes(); ++n) copies_.bring_rows_for_keys(tile.window() + n * Layout::kBoxRows);
    }

    constexpr void add_positions(const Near& tile, int number) {
        const bool positions = steps_.positions();
        block_.each([&](Lane& r) {
            if (!positions) {
                unrolled<kTileKeys / 8>(
                    [&](auto n) { unrolled<4>([&](auto e) { r.scores[n][e] = r.asked[n][e] * steps_.scale(); }); });
                return;
            }
            const PositionScores from = tables_.scores(r, tile);
            const RowRange rows{0, 2};  // more than one: each pair by its place
            const PositionSum<kTileKeys, kTileKeys, Block> sum{block_, steps_.scale(), from, rows};
            const int i = 16 * r.warp() + r.group(), j = 2 * r.pair();
            if (from.of_rows && from.of_columns && tables_.is_linear(r))
                sum.template add_linear<1>(r, r.asked, i, j);
            else
                sum.add(r, r.asked, i, j);
        });
        if (args_.visible_keys || (number + 1) * kTileKeys > steps_.key_tokens.count) hide(number);
    }

    /// context += probabilities values.
    constexpr void gather(int number) {
        products_.gather(
            copies_.values_of(number), [](Lane & r) -> auto& { return r.p; }, [](Lane& r) { return r.context; });
    }

    /// Probabilities as left factors.
    constexpr void pack() {
        block_.each([](Lane& r) { unrolled<4>([&](auto step) { Steps::pack_probabilities(r, step, r.p[step]); }); });
    }

    /// Beyond a packed sample's last key lie another sample's values, and 0 times anything must be 0.
    constexpr void clear_absent_values(int number) {
        const int valid = steps_.key_tokens.count - number * kTileKeys, values = copies_.values_of(number);
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

    Block& block_;
    Steps steps_;
    const ForwardArguments<Scalar>& args_;
    const HopperLayout layout_;
    Copies copies_;
    HopperProducts<Scalar, width, Block> products_;
    HopperTables<Scalar, width, tile_queries, Block> tables_;
    const int capacity_;
};

}  // namespace locus::cuda
