#pragma once
// What the Hopper forward kernel lets the copy engine bring, and how its threads wait for it: boxes of 64 rows with all
// their channels, in three rings of places in shared memory: keys, values, and rows of the relative tables.  A warp of
// its own asks for them (Block::one), each as soon as all other warps have let go of what its place held before.  All
// warps run the same text; what is not theirs does nothing.
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
                block_.start_barrier(place_of(n), n % 2 == 0 ? 1 : kWarps);
        });
        block_.barriers_are_started();
        block_.sync_all();
    }

    // Tiles of keys and of values by their numbers; nothing happens if there is no such tile.
    constexpr int tiles() const { return tiles_; }
    constexpr int keys_of(int number) const { return place_of(keys(), number); }
    constexpr int values_of(int number) const { return place_of(values(), number); }
    constexpr void bring_keys(int number) { bring_tokens(keys(), maps_.k, number); }
    constexpr void bring_values(int number) { bring_tokens(values(), maps_.v, number); }
    constexpr void wait_for_keys(int number) { wait_for(keys(), number); }
    constexpr void wait_for_values(int number) { wait_for(values(), number); }
    /// This warp does not read them any more.
    constexpr void let_go_of_keys(int number) { let_go_of(keys(), number); }
    constexpr void let_go_of_values(int number) { let_go_of(values(), number); }

    // Boxes of rows, in the order in which they are asked for.
    /// The block's queries; what lies beyond the last one is never stored.
    constexpr void bring_queries() {
        for (int n = 0; n < tile_queries / Layout::kBoxRows; ++n)
            bring(rows(), brought_++, maps_.q, query_ + n * Layout::kBoxRows, sample_of_queries_);
    }
    constexpr void bring_rows_for_queries(int first) { bring(rows(), brought_++, maps_.k_r, first, 0); }
    constexpr void bring_rows_for_keys(int first) { bring(rows(), brought_++, maps_.q_r, first, 0); }
    /// Of those that no warp has let go of, box n.
    constexpr int box(int n) const { return place_of(rows(), used_ + n); }
    constexpr void wait_for_boxes(int count) {
        for (int n = 0; n < count; ++n) wait_for(rows(), used_ + n);
    }
    constexpr void let_go_of_boxes(int count) {
        for (int n = 0; n < count; ++n) let_go_of(rows(), used_++);
    }

private:
    static constexpr int kWarps = tile_queries / 16;
    /// Places for so many boxes; each has two barriers: what was asked for is there, and all warps are done with it.
    struct Ring {
        int first_place, size, first_barrier;
    };
    constexpr Ring rows() const { return {layout_.window, kSlots, 0}; }
    constexpr Ring keys() const { return {layout_.keys, Layout::kStages, 2 * kSlots}; }
    constexpr Ring values() const { return {layout_.values, Layout::kStages, 2 * (kSlots + Layout::kStages)}; }

    static constexpr int place_of(Ring ring, int number) { return ring.first_place + number % ring.size * kBox; }
    constexpr int place_of(int barrier) const { return layout_.barriers + 8 * barrier; }
    constexpr int arrived(Ring ring, int number) const {
        return place_of(ring.first_barrier + 2 * (number % ring.size));
    }
    constexpr int used(Ring ring, int number) const { return arrived(ring, number) + 8; }
    /// Every use of a place is one phase of its barriers.
    static constexpr std::uint32_t parity_of(Ring ring, int number) {
        return static_cast<std::uint32_t>(number / ring.size) & 1;
    }

    constexpr void bring(Ring ring, int number, const typename Block::Map& map, int row, int sample) {
        block_.one([&] {
            // The phase before the first one counts as over.
            block_.wait_for_warps(used(ring, number), parity_of(ring, number) ^ 1);
            const int barrier = arrived(ring, number);
            block_.expect(barrier, kBox);
            for (int panel = 0; panel < kPanels; ++panel)
                block_.copy_box(place_of(ring, number) + panel * kPanel, map, kPanelChannels * panel, row, head_,
                                sample, barrier);
        });
    }
    constexpr void bring_tokens(Ring ring, const typename Block::Map& map, int number) {
        if (number < tiles_) bring(ring, number, map, key_ + number * Layout::kTileKeys, sample_of_keys_);
    }
    constexpr void wait_for(Ring ring, int number) { block_.wait(arrived(ring, number), parity_of(ring, number)); }
    constexpr void let_go_of(Ring ring, int number) { block_.arrive_by_warp(used(ring, number)); }

    Block& block_;
    const Maps& maps_;
    const HopperLayout layout_;
    int query_, key_, tiles_;  // the first rows of the maps, and tiles of keys
    int head_, sample_of_queries_, sample_of_keys_;
    int brought_ = 0, used_ = 0;  // boxes of rows so far
};

}  // namespace locus::cuda
