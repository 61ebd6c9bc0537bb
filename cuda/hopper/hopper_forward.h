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
// What runs beside what: keys and values of the next tile are in flight during a whole tile, rows of the next window
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
// sources are in hopper_layout.h.
#include "cuda/fused/forward_steps.h"
#include "cuda/hopper/hopper_copies.h"
#include "cuda/hopper/hopper_tables.h"

namespace locus::cuda {

/// The registers of one lane.
template <int width>
struct HopperLane : LaneBase {
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
          products_(block),
          tables_(block, args, layout_, capacity) {}

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
                tables_.template fill_of_block<Lane>(
                    copies_, args_.line.reached_by(offsets_of_block(steps_.i0, tile_queries, queries, keys)));
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
    using Copies = HopperCopies<Scalar, width, tile_queries, Block>;
    static constexpr int kPanel = Copies::kPanel, kPanels = Copies::kPanels;

    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }

    /// Queries as left factors, for the whole block's life.
    constexpr void load_queries() {
        copies_.bring_queries();
        for (int n = 0; n < kWarpgroups; ++n) copies_.wait_for_slot(n);
        unrolled<width / 16>([&](auto step) {
            block_.template load_matrices<false>([&](Lane& r) {
                const int matrix = r.lane() / 8, row = r.warp() % 4 * 16 + matrix % 2 * 8 + r.lane() % 8;
                const int channel = 16 * step + matrix / 2 * 8;
                const int box = copies_.slot(block_.warpgroup(r)) + channel / kPanelChannels * kPanel;
                return std::pair(shared(box + place_in_panel(row, channel % kPanelChannels)), &r.q[step][0]);
            });
        });
        block_.fence_copies();
        block_.sync();
    }

    constexpr void ask_for_scores(int number) {
        products_.multiply_queries(
            copies_.keys_of(number), [](Lane & r) -> auto& { return r.asked; });
    }

    /// Probabilities as left factors.
    constexpr void pack() {
        block_.each([](Lane& r) { unrolled<4>([&](auto step) { Steps::pack_probabilities(r, step, r.p[step]); }); });
    }

    // 2. Tiles of keys.

    constexpr void attend_to_all(ForwardTile tile) {
        bool has_constants = false;
        for (int number = 0; number < copies_.tiles(); ++number) {
            const bool is_last = number + 1 == copies_.tiles();
            const ForwardTile next = is_last ? tile : steps_.tile_at(tile.j0 + kTileKeys);
            std::uint8_t* visible = block_.template shared<std::uint8_t>(layout_.visible);
            steps_.note_places(tile, shared(layout_.places), visible);
            if (args_.q_r && !has_constants) tables_.template fill_of_tile<Lane>(copies_, tile.rows, number);
            copies_.wait_for_values(number);
            clear_absent_values(tile, copies_.values_of(number));
            // Where the constants were there and no key is missing, no thread has written anything since the last
            // barrier.
            if (!has_constants || !steps_.sees_all(tile)) block_.sync();
            // Everybody is done with these keys and this window.
            if (args_.q_r && !is_last) copies_.bring_window(next);
            copies_.bring_keys(number + Layout::kStages);
            const PositionScores scores = tables_.scores(tile.rows, number, shared(layout_.places));
            block_.each([&](Lane& r) {
                steps_.add_positions(r, r.asked, tile, scores);
                if (!steps_.sees_all(tile)) hide<kTileKeys>(block_, r, visible);
            });
            // Both reach the same row alone: it stays in the window, and no thread reads the whole key table.
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
        if constexpr (with_constants) tables_.template ask_for_constants<Lane>(copies_, number + 1);
        online_softmax_step<width, kTileKeys, Lane>(block_);
        pack();
        block_.fence_registers();
        products_.template gather_values<Lane>(copies_.values_of(number));
        block_.template wait_for_products<0>();
        if constexpr (with_constants) tables_.template keep_constants<Lane>(number + 1);
    }

    /// The same one after the other: random numbers are drawn in loops, and the last tile has no next.
    constexpr void gather_and_ask(int number, const ForwardTile& tile, bool is_last) {
        online_softmax_step<width, kTileKeys, Lane>(block_);
        if (args_.dropout > 0) block_.each([&](Lane& r) { steps_.drop_some(r, tile); });
        pack();
        if (is_last) {
            block_.fence_registers();
            products_.template gather_values<Lane>(copies_.values_of(number));
            block_.template wait_for_products<0>();
        } else {
            block_.fence_registers();
            products_.template gather_values<Lane>(copies_.values_of(number));
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

    Block& block_;
    Steps steps_;
    const ForwardArguments<Scalar>& args_;
    const HopperLayout layout_;
    Copies copies_;
    HopperFactors<Scalar, width, Block> products_;
    HopperTables<Scalar, width, tile_queries, Block> tables_;
};

}  // namespace locus::cuda
