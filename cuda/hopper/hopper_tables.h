#pragma once
// Warpgroup products of the Hopper forward kernel, and its position scores: the row table of a block and the key table
// of a tile.  Each product is a group that the tensor cores work on while the warpgroup continues. Registers are fenced
// before, and waited for after, by the caller.
#include "cuda/fused/forward_steps.h"
#include "cuda/fused/lanes.h"
#include "cuda/hopper/hopper_layout.h"

namespace locus::cuda {

/// Boxes are 64 rows of shared memory with all their channels; lanes have q, p and context as HopperLane.
template <class Scalar, int width, class Block>
class HopperFactors {
public:
    static constexpr int kPanels = width / kPanelChannels, kPanel = HopperLayout::kBoxRows * kPanelRow;

    constexpr explicit HopperFactors(Block& block) : block_(block) {}

    /// c[64, 64] = queries of the warpgroup, as left factors q, times the 64 rows of a box, as a group of products.
    template <class Q, class C>
    constexpr void multiply_queries(int box, Q q, C c) {
        each_constant<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t rows = advanced(rows_descriptor(block_.address(box)), channels_of_step(kStep));
            block_.template multiply_held<Scalar, false, (kStep > 0)>([&](auto& r) {
                return Held{q(r)[kStep], rows, c(r)};
            });
        });
        block_.commit_products();
    }

    /// c[64, 64] = a tile's keys times rows of the window, from its byte first(lane) on, as a group of products.
    template <class First, class C>
    constexpr void multiply_keys(int keys, int window, First first, C c) {
        each_constant<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t left = rows_descriptor(block_.address(keys)),
                                right = rows_descriptor(block_.address(window));
            block_.template multiply_shared<Scalar, (kStep > 0)>([&](auto& r) {
                return Shared{advanced(left, channels_of_step(kStep)),
                              advanced(right, first(r) + channels_of_step(kStep)), c(r)};
            });
        });
        block_.commit_products();
    }

    /// context += probabilities values.
    template <class Lane>
    constexpr void gather_values(int values) {
        unrolled<HopperLayout::kTileKeys / 16>([&](auto step) {
            unrolled<kPanels>([&](auto panel) {
                const std::uint64_t channels =
                    advanced(channels_descriptor(block_.address(values)), panel * kPanel + step * kStepOfRows);
                block_.template multiply_held<Scalar, true, true>([&](Lane& r) {
                    return Held{r.p[step], channels, r.context + 8 * panel};
                });
            });
        });
        block_.commit_products();
    }

private:
    using Held = typename Block::HeldFactors;
    using Shared = typename Block::SharedFactors;

    static constexpr int channels_of_step(int step) {
        return 16 * step / kPanelChannels * kPanel + 16 * step % kPanelChannels / 16 * kStepOfChannels;
    }

    Block& block_;
};

/// Lanes have scores[8][4], in which pieces of the tables are made.
template <class Scalar, int width, int tile_queries, class Block>
class HopperTables {
public:
    using Layout = HopperLayout;

    /// capacity: table rows for which there is room.
    constexpr HopperTables(Block& block, const ForwardArguments<Scalar>& args, const Layout& layout, int capacity)
        : block_(block),
          products_(block),
          args_(args),
          layout_(layout),
          row_stride_(row_table_stride(round_up(capacity, 8))) {}

    /// 1. Every row of the table that the block reaches.
    template <class Lane, class Copies>
    constexpr void fill_of_block(Copies& copies, RowRange reached) {
        reached_ = reached;
        const int boxes = Layout::boxes_of(reached.count);
        for (int n = 0; n < smaller(boxes, Copies::kSlots); ++n) copies.bring_rows(reached.first, n);
        for (int n = 0; n < boxes; ++n) {
            copies.wait_for_slot(n);
            block_.fence_registers();
            products_.multiply_queries(
                copies.slot(n), [](Lane & r) -> auto& { return r.q; }, [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
            block_.each([&](Lane& r) {
                unrolled<8>([&](auto c) {
                    const int column = n * Layout::kBoxRows + 8 * c;
                    if (column < reached.count)
                        keep_vector(block_, r, r.scores[c], scale(), shared(layout_.row_table), row_stride_,
                                    16 * r.warp(), column);
                });
            });
            block_.sync();
            if (n + Copies::kSlots < boxes) copies.bring_rows(reached.first, n + Copies::kSlots);
        }
    }

    /// 2. p2c of the keys of tile `number`, which reaches those rows.
    template <class Lane, class Copies>
    constexpr void fill_of_tile(Copies& copies, const RowRange& rows, int number) {
        const int keys = copies.keys_of(number);
        copies.wait_for_window();
        // The boxes of the window are shared out among the warpgroups.  All multiply; where there are fewer boxes some
        // do what another does, and keep nothing.
        const int boxes = Layout::boxes_of(rows.count);
        for (int first = 0; first < boxes; first += kWarpgroups) {
            block_.fence_registers();
            products_.multiply_keys(
                keys, copies.slot(0), [&](Lane& r) { return kBox * smaller(first + block_.warpgroup(r), boxes - 1); },
                [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
            block_.each([&](Lane& r) {
                unrolled<8>([&](auto c) {
                    const int column = Layout::kBoxRows * (first + block_.warpgroup(r)) + 8 * c;
                    if (column < rows.count) keep_keys(r, r.scores[c], column);
                });
            });
        }
    }

    /// places: the relative row of every place of a tile, which reaches those rows.
    constexpr PositionScores scores(const RowRange& rows, const std::uint16_t* places) const {
        return {args_.k_r ? shared(layout_.row_table) : nullptr,
                row_stride_,
                reached_.first,
                args_.q_r ? shared(layout_.key_table) : nullptr,
                kKeyStride,
                rows.first,
                places};
    }
    /// c2p of the lane's two queries with one of the rows; 0 where the term is off.
    template <class Lane>
    constexpr void read_row(const Lane& r, int row, float (&of_queries)[2]) const {
        for (int side = 0; side < 2; ++side)
            of_queries[side] =
                args_.k_r ? half_at(block_, r,
                                    shared(layout_.row_table) + (16 * r.warp() + r.group() + 8 * side) * row_stride_ +
                                        row - reached_.first)
                          : 0.0f;
    }

private:
    static constexpr int kKeyStride = Layout::key_stride(tile_queries), kBox = Layout::box_bytes(width),
                         kWarpgroups = tile_queries / 64;

    constexpr float scale() const { return args_.scale * kLog2e; }
    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }
    template <class Lane>
    constexpr void keep_keys(Lane& r, const float (&piece)[4], int column) {
        keep_vector(block_, r, piece, scale(), shared(layout_.key_table), kKeyStride, r.warp() % 4 * 16, column);
    }

    Block& block_;
    HopperFactors<Scalar, width, Block> products_;
    const ForwardArguments<Scalar>& args_;
    const Layout layout_;
    int row_stride_;
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
