#pragma once
// What the Hopper forward kernel lets the copy engine bring, and how its threads wait for it: boxes of 64 rows with all
// their channels, each completing a barrier of its own.  All threads come by everywhere, one of them asks.
#include "cuda/fused/forward_steps.h"
#include "cuda/hopper/hopper_layout.h"
#include "cuda/hopper/rows_map.h"

namespace locus::cuda {

/// For the block whose first query is i0 of a sample and head.
template <class Scalar, int width, int tile_queries, class Block>
class HopperCopies {
public:
    using Layout = HopperLayout;
    using Maps = ForwardMaps<typename Block::Map>;
    static constexpr int kPanels = width / kPanelChannels, kPanel = Layout::kBoxRows * kPanelRow;
    static constexpr int kBox = Layout::box_bytes(width), kSlots = Layout::window_boxes(tile_queries);

    constexpr HopperCopies(Block& block, const ForwardArguments<Scalar>& args, const Maps& maps,
                           const HopperLayout& layout, int i0, int head, int sample)
        : block_(block),
          maps_(maps),
          layout_(layout),
          query_(args.queries_of(sample).first + i0),
          key_(args.keys_of(sample).first),
          tiles_((args.keys_of(sample).count + Layout::kTileKeys - 1) / Layout::kTileKeys),
          head_(head),
          sample_of_queries_(args.first_query ? 0 : sample),
          sample_of_keys_(args.first_key ? 0 : sample) {}

    /// Before everything else.
    constexpr void start() {
        block_.one([&] {
            for (int n = 0; n < Layout::barrier_count(tile_queries); ++n)
                block_.start_barrier(place_of(n), n < Layout::barrier_of_used_keys(tile_queries, 0) ? 1 : kWarps);
        });
        block_.barriers_are_started();
        block_.sync();
    }

    constexpr int tiles() const { return tiles_; }
    /// Places of tile number `number`, which a stage holds.
    constexpr int keys_of(int number) const { return layout_.keys + stage_of(number) * kBox; }
    constexpr int values_of(int number) const { return layout_.values + stage_of(number) * kBox; }
    /// One tile after the other, each as soon as all warps have let go of the one before in the same stage.  No barrier
    /// of the whole block: a warp may be ahead of others by a tile.  Nothing happens if there is no such tile.
    constexpr void bring_keys(int number) {
        bring_tokens(maps_.k, number, keys_of(number), Layout::barrier_of_keys(tile_queries, stage_of(number)),
                     Layout::barrier_of_used_keys(tile_queries, stage_of(number)));
    }
    constexpr void bring_values(int number) {
        bring_tokens(maps_.v, number, values_of(number), Layout::barrier_of_values(tile_queries, stage_of(number)),
                     Layout::barrier_of_used_values(tile_queries, stage_of(number)));
    }
    constexpr void wait_for_keys(int number) {
        block_.wait(place_of(Layout::barrier_of_keys(tile_queries, stage_of(number))), parity_of(number));
    }
    constexpr void wait_for_values(int number) {
        block_.wait(place_of(Layout::barrier_of_values(tile_queries, stage_of(number))), parity_of(number));
    }
    /// This warp does not read them any more.
    constexpr void let_go_of_keys(int number) {
        block_.arrive_by_warp(place_of(Layout::barrier_of_used_keys(tile_queries, stage_of(number))));
    }
    constexpr void let_go_of_values(int number) {
        block_.arrive_by_warp(place_of(Layout::barrier_of_used_values(tile_queries, stage_of(number))));
    }

    constexpr int slot(int n) const { return layout_.window + n % kSlots * kBox; }
    /// The block's queries, through the window; what lies beyond the last one is never stored.
    constexpr void bring_queries() {
        for (int n = 0; n < tile_queries / Layout::kBoxRows; ++n)
            bring(maps_.q, slot(n), n, query_ + n * Layout::kBoxRows, sample_of_queries_);
    }
    /// Box n of k_r, from `first` on, into its slot.
    constexpr void bring_rows(int first, int n) {
        bring(maps_.k_r, slot(n), n % kSlots, first + n * Layout::kBoxRows, 0);
    }
    constexpr void wait_for_slot(int n) { wait(n % kSlots); }

    /// Rows of q_r that a tile reaches; far from the diagonal they are there from the tile before.
    constexpr void bring_window(const ForwardTile& tile) {
        const int boxes = Layout::boxes_of(tile.rows.count);
        if (tile.rows.first == window_first_ && boxes <= window_boxes_) return;
        for (int n = 0; n < boxes; ++n) bring(maps_.q_r, slot(n), n, tile.rows.first + n * Layout::kBoxRows, 0);
        window_first_ = tile.rows.first;
        window_boxes_ = arriving_ = boxes;
    }
    constexpr void wait_for_window() {
        for (int n = 0; n < arriving_; ++n) wait(n);
        arriving_ = 0;
    }

private:
    static constexpr int kWarps = tile_queries / 16;
    static constexpr int stage_of(int number) { return number % Layout::kStages; }
    /// Of the barrier's phase in which a tile comes, or is let go of.
    static constexpr std::uint32_t parity_of(int number) {
        return static_cast<std::uint32_t>(number / Layout::kStages) & 1;
    }
    constexpr int place_of(int barrier) const { return layout_.barriers + 8 * barrier; }

    constexpr void bring(const typename Block::Map& map, int to, int barrier, int row, int sample) {
        block_.one([&] {
            block_.expect(place_of(barrier), kBox);
            for (int panel = 0; panel < kPanels; ++panel)
                block_.copy_box(to + panel * kPanel, map, kPanelChannels * panel, row, head_, sample,
                                place_of(barrier));
        });
    }
    constexpr void bring_tokens(const typename Block::Map& map, int number, int to, int barrier, int used) {
        if (number >= tiles_) return;
        if (number >= Layout::kStages)
            block_.one([&] { block_.wait(place_of(used), parity_of(number - Layout::kStages)); });
        bring(map, to, barrier, key_ + number * Layout::kTileKeys, sample_of_keys_);
    }
    /// Every use of a window's barrier is one box, so that the parity of uses is the parity of its phase.
    constexpr void wait(int barrier) {
        block_.wait(place_of(barrier), waited_ >> barrier & 1);
        waited_ ^= 1u << barrier;
    }

    Block& block_;
    const Maps& maps_;
    const HopperLayout layout_;
    int query_, key_, tiles_;  // the first rows of the maps, and tiles of keys
    int head_, sample_of_queries_, sample_of_keys_;
    std::uint32_t waited_ = 0;                  // a bit per box of the window: the parity of the phase to wait for next
    int window_first_ = -1, window_boxes_ = 0;  // rows of q_r that the window holds
    int arriving_ = 0;                          // boxes of them that no thread has waited for
};

}  // namespace locus::cuda
