#pragma once
// What the Hopper backward kernel lets the copy engine bring, and how its threads wait for it: boxes of 64 rows with
// all their channels.  All threads come by everywhere, one of them asks.
#include "cuda/hopper/hopper_backward_layout.h"
#include "cuda/hopper/rows_map.h"

namespace locus::cuda {

/// For the block whose first outer token is outer0 of a sample and head.
template <class Scalar, int width, int tile_outer, bool around_keys, class Block>
class BackwardCopies {
public:
    using Layout = HopperBackwardLayout;
    using Side = BackwardSide<Scalar, around_keys>;
    using Map = typename Block::Map;
    static constexpr int kPanels = width / kPanelChannels, kPanel = Layout::kBoxRows * kPanelRow;
    static constexpr int kBox = HopperLayout::box_bytes(width), kSlots = Layout::kSlots;

    constexpr BackwardCopies(Block& block, const Side& side, const BackwardMaps<Map>& maps, const Layout& layout,
                             int outer0, int head, int sample)
        : block_(block),
          maps_(maps),
          layout_(layout),
          outer_(side.outer(sample).first + outer0),
          inner_(side.inner(sample).first),
          head_(head),
          outer_sample_(is_packed(side, around_keys) ? 0 : sample),
          inner_sample_(is_packed(side, !around_keys) ? 0 : sample) {}

    /// Before everything else.
    constexpr void start() {
        block_.one([&] {
            for (int n = 0; n < Layout::kBarriers; ++n)
                block_.start_barrier(place_of(n), n < Layout::barrier_of_used(0) ? 1 : 2 * tile_outer / 32);
        });
        block_.barriers_are_started();
        block_.sync();
    }

    constexpr int slot(int n) const { return layout_.window + n % kSlots * kBox; }
    constexpr int tokens_of(int stage) const { return layout_.stages + stage * 2 * kBox; }
    constexpr int values_of(int stage) const { return tokens_of(stage) + kBox; }

    /// The block's own tokens through the window, their values through stage 1; what lies beyond the last one is never
    /// stored.
    constexpr void bring_outer() {
        constexpr int kBoxes = tile_outer / Layout::kBoxRows, kBarrier = Layout::barrier_of_stage(1);
        for (int n = 0; n < kBoxes; ++n)
            bring_to_slot(around_keys ? maps_.k : maps_.q, n, outer_ + n * Layout::kBoxRows, outer_sample_);
        block_.one([&] {
            block_.expect(place_of(kBarrier), kBoxes * kBox);
            for (int n = 0; n < kBoxes; ++n)
                copy_box(outer_values(n), around_keys ? maps_.v : maps_.d_context, outer_ + n * Layout::kBoxRows,
                         outer_sample_, kBarrier);
        });
    }
    constexpr int outer_values(int n) const { return tokens_of(1) + n * kBox; }
    constexpr void wait_for_outer() {
        for (int n = 0; n < tile_outer / Layout::kBoxRows; ++n) wait_for_slot(n);
        wait_for_tile(1);
    }
    /// Box n of the relative rows that outer or inner tokens meet, from `first` on, into its slot.
    constexpr void bring_outer_rows(int first, int n) {
        bring_to_slot(around_keys ? maps_.q_r : maps_.k_r, n, first + n * Layout::kBoxRows, 0);
    }
    constexpr void bring_inner_rows(int first, int n) {
        bring_to_slot(around_keys ? maps_.k_r : maps_.q_r, n, first + n * Layout::kBoxRows, 0);
    }
    constexpr void wait_for_slot(int n) { wait(n % kSlots); }

    /// The tokens and values of a tile into a stage that no thread needs any more.
    constexpr void bring_tile(int number, int stage) {
        block_.one([&] { ask_for_tile(number, stage); });
    }
    /// The same as soon as all warps have let go of it.
    constexpr void bring_tile_when_used(int number, int stage) {
        const int used = Layout::barrier_of_used(stage);
        block_.one([&] {
            block_.wait(place_of(used), waited_ >> used & 1);
            ask_for_tile(number, stage);
        });
        waited_ ^= 1u << used;
    }
    constexpr void let_go(int stage) { block_.arrive_by_warp(place_of(Layout::barrier_of_used(stage))); }
    constexpr void wait_for_tile(int stage) { wait(Layout::barrier_of_stage(stage)); }

private:
    static constexpr bool is_packed(const Side& side, bool keys) {
        return (keys ? side.forward().first_key : side.forward().first_query) != nullptr;
    }
    constexpr int place_of(int barrier) const { return layout_.barriers + 8 * barrier; }

    constexpr void copy_box(int to, const Map& map, int row, int sample, int barrier) {
        for (int panel = 0; panel < kPanels; ++panel)
            block_.copy_box(to + panel * kPanel, map, kPanelChannels * panel, row, head_, sample, place_of(barrier));
    }
    constexpr void bring_to_slot(const Map& map, int n, int row, int sample) {
        block_.one([&] {
            block_.expect(place_of(n % kSlots), kBox);
            copy_box(slot(n), map, row, sample, n % kSlots);
        });
    }
    constexpr void ask_for_tile(int number, int stage) {
        const int barrier = Layout::barrier_of_stage(stage), row = inner_ + number * Layout::kInner;
        block_.expect(place_of(barrier), 2 * kBox);
        copy_box(tokens_of(stage), around_keys ? maps_.q : maps_.k, row, inner_sample_, barrier);
        copy_box(values_of(stage), around_keys ? maps_.d_context : maps_.v, row, inner_sample_, barrier);
    }
    /// Every phase is waited for, so that the parity of waits is the parity of the phase.
    constexpr void wait(int barrier) {
        block_.wait(place_of(barrier), waited_ >> barrier & 1);
        waited_ ^= 1u << barrier;
    }

    Block& block_;
    const BackwardMaps<Map>& maps_;
    const Layout layout_;
    int outer_, inner_;  // the first rows of the maps
    int head_, outer_sample_, inner_sample_;
    std::uint32_t waited_ = 0;  // a bit per barrier: the parity of the phase that is waited for next
};

}  // namespace locus::cuda
