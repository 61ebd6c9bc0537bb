#pragma once
// Position scores of the Hopper forward kernel: the row table of a block and the key table of a tile.
#include "cuda/fused/forward_steps.h"
#include "cuda/hopper/hopper_products.h"

namespace locus::cuda {

/// What a tile near the diagonal reaches of the relative table: the block, and of it each warpgroup.
template <int warpgroups>
struct NearTile {
    std::uint32_t rows[warpgroups];  // of each the first row, and in the upper half the last one

    constexpr int first(int group) const { return static_cast<int>(of(group) & 0xffff); }
    constexpr int last(int group) const { return static_cast<int>(of(group) >> 16); }
    /// The block's first row, and how many boxes of 64 rows it reaches from there on.
    constexpr int window() const { return first(0); }
    constexpr int boxes() const { return last_box(warpgroups - 1) + 1; }
    /// Of the rows from there on, the one of a warpgroup's column 0.
    constexpr int first_column(int group) const { return (first(group) - window()) / 8 * 8; }
    /// A warpgroup's boxes, one each round; who has fewer repeats its last one.
    constexpr int box_of(int group, int round) const { return smaller(first_box(group) + round, last_box(group)); }
    constexpr int rounds() const {
        int most = 0;
        for (int g = 0; g < warpgroups; ++g) most = larger(most, last_box(g) - first_box(g) + 1);
        return most;
    }

private:
    /// Not by a number that the compiler does not know: registers have no addresses.
    constexpr std::uint32_t of(int group) const { return group == 0 ? rows[0] : rows[warpgroups - 1]; }
    constexpr int first_box(int group) const { return (first(group) - window()) / HopperLayout::kBoxRows; }
    constexpr int last_box(int group) const { return (last(group) - window()) / HopperLayout::kBoxRows; }
};

/// Lanes have scores[8][4], in which pieces of the tables are made, and place.
template <class Scalar, int width, int tile_queries, class Block>
class HopperTables {
public:
    using Layout = HopperLayout;
    static constexpr int kWarpgroups = tile_queries / 64;

    /// capacity: table rows for which there is room.
    constexpr HopperTables(Block& block, const ForwardArguments<Scalar>& args, const Layout& layout, int capacity)
        : block_(block),
          products_(block),
          args_(args),
          layout_(layout),
          row_stride_(Layout::row_stride(round_up(capacity, 8))) {}

    /// 1. Rows of the table that the block reaches.
    template <class Lane, class Copies>
    constexpr void fill_of_block(Copies& copies, RowRange reached) {
        reached_ = reached;
        const int boxes = Layout::boxes_of(reached.count);
        const auto bring = [&](int n) { copies.bring_rows_for_queries(reached.first + n * Layout::kBoxRows); };
        for (int n = 0; n < smaller(boxes, Copies::kSlots); ++n) bring(n);
        for (int n = 0; n < boxes; ++n) {
            copies.wait_for_boxes(1);
            block_.fence_registers();
            products_.multiply(
                copies.box(0), [](Lane & r) -> auto& { return r.q; }, [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
            copies.let_go_of_boxes(1);
            if (n + Copies::kSlots < boxes) bring(n + Copies::kSlots);
            block_.each([&](Lane& r) {
                unrolled<8>([&](auto c) {
                    const int column = n * Layout::kBoxRows + 8 * c;
                    if (column < reached.count)
                        keep_pairs(block_, r, r.scores[c], scale(), shared(layout_.row_table), row_stride_,
                                   16 * r.warp(), column);
                });
            });
        }
        block_.sync_warpgroup();
    }

    /// 2. The rows at a lane's places of a tile, for its warpgroup alone; to be seen after a barrier of the warpgroup.
    template <class Lane>
    constexpr void store_place(Lane& r) const {
        const int place = 64 * block_.warpgroup(r) + r.thread % 128;
        block_.store(r, places(r) + place, static_cast<std::uint16_t>(r.place));
    }

    /// p2c of the keys of tile `number`, for each warpgroup with the rows that it reaches.   beside(): asks for
    /// products that are there too afterwards.
    template <class Lane, class Copies, class Beside>
    constexpr void fill_of_tile(Copies& copies, const NearTile<kWarpgroups>& tile, int number, Beside beside) {
        copies.wait_for_boxes(tile.boxes());
        const auto multiply = [&](int round) {
            products_.multiply_boxes(
                copies.keys_of(number), layout_.window,
                [&](Lane& r) { return copies.box(tile.box_of(block_.warpgroup(r), round)) - layout_.window; },
                [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
        };
        block_.fence_registers();
        beside();
        multiply(0);
        for (int round = 0;;) {
            block_.each([&](Lane& r) { keep_keys(r, tile, round); });
            if (++round == tile.rounds()) break;
            block_.fence_registers();
            multiply(round);
        }
        copies.let_go_of_boxes(tile.boxes());
    }

    /// Every place of a warp's pairs has a row of its own.
    template <class Lane>
    constexpr bool is_linear(const Lane& r) const {
        constexpr int kLast = 16 + Layout::kTileKeys - 2;
        const std::uint16_t* of_warp = places(r) + 16 * r.warp();
        return block_.load(r, of_warp + kLast) - block_.load(r, of_warp) == kLast;
    }

    /// For the lane's warpgroup.
    template <class Lane>
    constexpr PositionScores scores(const Lane& r, const NearTile<kWarpgroups>& tile) const {
        return {args_.k_r ? shared(layout_.row_table) : nullptr,
                row_stride_,
                reached_.first,
                args_.q_r ? key_table(r) : nullptr,
                kKeyStride,
                tile.window() + tile.first_column(block_.warpgroup(r)),
                places(r)};
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
    static constexpr int kKeyStride = Layout::kKeyStride;

    constexpr float scale() const { return args_.scale * kLog2e; }
    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }
    /// Of a round's product what the warpgroup reaches.
    template <class Lane>
    constexpr void keep_keys(Lane& r, const NearTile<kWarpgroups>& tile, int round) {
        const int group = block_.warpgroup(r), from = tile.first_column(group),
                  columns = tile.last(group) - tile.window() - from + 1;
        unrolled<8>([&](auto c) {
            const int column = Layout::kBoxRows * tile.box_of(group, round) + 8 * c - from;
            if (column >= 0 && column < columns)
                keep_pairs(block_, r, r.scores[c], scale(), key_table(r), kKeyStride, r.warp() % 4 * 16, column);
        });
    }
    template <class Lane>
    constexpr std::uint16_t* key_table(const Lane& r) const {
        return shared(layout_.key_table + block_.warpgroup(r) * Layout::key_table_bytes());
    }
    template <class Lane>
    constexpr std::uint16_t* places(const Lane& r) const {
        return shared(layout_.places + block_.warpgroup(r) * Layout::places_bytes(tile_queries));
    }

    Block& block_;
    HopperProducts<Scalar, width, Block> products_;
    const ForwardArguments<Scalar>& args_;
    const Layout layout_;
    int row_stride_;
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
