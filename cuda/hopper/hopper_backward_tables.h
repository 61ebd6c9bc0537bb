#pragma once
// The tables of the Hopper backward kernel, products of tokens with relative rows: of the block's outer tokens, once,
// and of a tile's inner ones; and what shared memory tells of a tile.
#include "cuda/fused/online_softmax.h"
#include "cuda/fused/position_scores.h"
#include "cuda/hopper/hopper_backward_copies.h"
#include "cuda/hopper/hopper_products.h"

namespace locus::cuda {

/// Lanes have tokens (left factors of the outer tokens), scores[8][4], grads[8][4] and lift[2], and row, row_before and
/// of_column for what is in flight.
template <class Scalar, int width, int tile_outer, bool around_keys, class Block>
class BackwardTables {
public:
    using Layout = HopperBackwardLayout;
    using Side = BackwardSide<Scalar, around_keys>;
    using Tiles = BackwardTiles<Scalar, tile_outer, around_keys>;
    static constexpr int kInner = Layout::kInner, kWarpgroups = tile_outer / 64, kThreads = 2 * tile_outer;
    static constexpr int kPlaces = tile_outer + kInner - 1;
    static_assert(kPlaces < kThreads && 2 * kInner <= kThreads);

    constexpr BackwardTables(Block& block, const Side& side, const Tiles& tiles, const Layout& layout, int capacity,
                             int head, int sample)
        : block_(block),
          products_(block),
          side_(side),
          tiles_(tiles),
          layout_(layout),
          outer_stride_(Layout::outer_stride(capacity, around_keys)),
          head_(head),
          sample_(sample) {}

    constexpr int outer_stride() const { return outer_stride_; }
    constexpr float scale() const { return side_.forward().scale * kLog2e; }

    /// Position scores of the outer tokens with all relative rows that they reach.
    template <class Lane, class Copies>
    [[gnu::always_inline]] constexpr void fill_of_block(Copies& copies, RowRange reached) {
        reached_ = reached;
        const int boxes = HopperLayout::boxes_of(reached.count);
        for (int n = 0; n < smaller(boxes, Copies::kSlots); ++n) copies.bring_outer_rows(reached.first, n);
        for (int n = 0; n < boxes; ++n) {
            copies.wait_for_slot(n);
            block_.fence_registers();
            products_.multiply(
                copies.slot(n), [](Lane & r) -> auto& { return r.tokens; }, [](Lane & r) -> auto& { return r.scores; });
            block_.template wait_for_products<0>();
            block_.each([&](Lane& r) {
                unrolled<8>([&](auto c) {
                    const int column = n * Layout::kBoxRows + 8 * c;
                    if (column < reached.count)
                        keep_pairs(block_, r, r.scores[c], scale(), shared(layout_.outer_table), outer_stride_,
                                   16 * r.warp(), column);
                });
            });
            block_.sync();
            if (n + Copies::kSlots < boxes) copies.bring_outer_rows(reached.first, n + Copies::kSlots);
        }
    }

    /// Position scores of the inner tokens of a tile, in `stage`, with the rows of the window, which the tile reaches.
    /// Beside the last of their products: whatever ask() multiplies, into other accumulators than r.grads.
    template <class Lane, class Copies, class Ask>
    [[gnu::always_inline]] constexpr void fill_of_tile(Copies& copies, const RowRange& rows, int stage, Ask ask) {
        // The boxes are shared out among the warpgroups.  All multiply; where there are fewer boxes some do what
        // another does, and keep nothing.
        const int boxes = HopperLayout::boxes_of(rows.count), last = (boxes - 1) / kWarpgroups * kWarpgroups;
        for (int n = 0; n < boxes; ++n) copies.wait_for_slot(n);
        const auto multiply = [&](int first) {
            products_.multiply_boxes(
                copies.tokens_of(stage), copies.slot(0),
                [&](Lane& r) { return Copies::kBox * smaller(first + block_.warpgroup(r), boxes - 1); },
                [](Lane & r) -> auto& { return r.grads; });
        };
        for (int first = 0; first < last; first += kWarpgroups) {
            block_.fence_registers();
            multiply(first);
            block_.template wait_for_products<0>();
            keep_boxes<Lane>(rows.count, first);
        }
        block_.fence_registers();
        multiply(last);
        ask();
        block_.template wait_for_products<0>();
        keep_boxes<Lane>(rows.count, last);
    }

    /// What shared memory will tell of a tile, one number of each kind a thread: in flight until it is put there.
    template <class Lane>
    [[gnu::always_inline]] constexpr void prefetch(const BackwardTile& tile) const {
        block_.each([&](Lane& r) {
            if (tile.rows.count > 1 && r.thread <= kPlaces) {
                r.row = tiles_.row_at(tile, r.thread);
                r.row_before = tiles_.row_at(tile, r.thread - 1);
            }
            if (r.thread < 2 * kInner) {
                const int inner = tile.inner0 + r.thread % kInner;
                if constexpr (around_keys)
                    r.of_column = r.thread < kInner ? log_sum_of(inner) : delta_of(inner);
                else
                    r.of_column = r.thread < kInner ? hidden(inner) : 0.0f;
            }
        });
    }
    /// The relative row at every place, and what the inner tokens bring along.
    template <class Lane>
    [[gnu::always_inline]] constexpr void put(const BackwardTile& tile) const {
        std::uint16_t* places = shared(layout_.places) + 1;
        std::uint32_t* changes = block_.template shared<std::uint32_t>(layout_.changes);
        block_.vote([](Lane& r) { return r.row != r.row_before; }, [](Lane & r) -> auto& { return r.changes; });
        ColumnPair* columns = block_.template shared<ColumnPair>(layout_.columns);
        block_.each([&](Lane& r) {
            if (tile.rows.count > 1 && r.thread <= kPlaces) {
                block_.store(r, places + r.thread, static_cast<std::uint16_t>(r.row));
                if (r.thread == 0) block_.store(r, places - 1, static_cast<std::uint16_t>(r.row_before));
                if (r.lane() == 0) block_.store(r, changes + r.warp(), r.changes);
            }
            if (r.thread < 2 * kInner) {
                ColumnPair& pair = columns[r.thread % kInner / 2];
                block_.store(r, (r.thread < kInner ? pair.log_sum : pair.delta) + r.thread % 2, r.of_column);
            }
        });
    }
    /// Every place of a warp's pairs, and the next one on either side, has a row of its own.
    template <class Lane>
    constexpr bool is_linear(const Lane& r, const BackwardTile& tile) const {
        if (tile.rows.count <= 16 + kInner - 1) return false;
        const std::uint16_t* places = shared(layout_.places) + 1 + 16 * r.warp();
        const int first = block_.load(r, places - 1), last = block_.load(r, places + 16 + kInner - 1);
        return (around_keys ? first - last : last - first) == 16 + kInner;
    }

    /// What the inner tokens of some tiles bring along.
    template <class Lane>
    [[gnu::always_inline]] constexpr void note_columns(ColumnPair* columns, int inner0, int tiles) const {
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < tiles * kInner; n += kThreads) {
                float log_sum = 0, delta = 0;
                if constexpr (around_keys) {
                    log_sum = log_sum_of(inner0 + n);
                    delta = delta_of(inner0 + n);
                } else {
                    log_sum = hidden(inner0 + n);
                }
                block_.store(r, columns[n / 2].log_sum + n % 2, log_sum);
                block_.store(r, columns[n / 2].delta + n % 2, delta);
            }
        });
    }
    /// +inf where there is no such query, or it sees no key: probabilities are then 2^-inf.
    constexpr float log_sum_of(int query) const {
        return exists(query) ? side_.forward().log_sum[side_.place_of_query(sample_, head_, query)] * kLog2e
                             : -kNothing;
    }
    constexpr float delta_of(int query) const {
        return exists(query) ? side_.args.delta[side_.place_of_query(sample_, head_, query)] : 0.0f;
    }
    /// 0, or +inf where there is no such key, or it is hidden.
    constexpr float hidden(int key) const { return side_.is_visible(sample_, key) ? 0.0f : -kNothing; }

    /// scores + lift of each row = scale c2c + both position terms of the lane's cells.
    template <class Lane>
    [[gnu::always_inline]] constexpr void add_positions(const BackwardTile& tile) const {
        const PositionScores from{side_.outer_rows() ? shared(layout_.outer_table) : nullptr,
                                  outer_stride_,
                                  reached_.first,
                                  side_.inner_rows() ? shared(layout_.inner_table) : nullptr,
                                  kInnerStride,
                                  tile.rows.first,
                                  shared(layout_.places) + 1};
        const PositionSum<kInner, kInner, Block> sum{block_, scale(), from, tile.rows};
        block_.each([&](Lane& r) {
            const int i = 16 * r.warp() + r.group(), j = 2 * r.pair();
            if (from.of_rows && from.of_columns && is_linear(r, tile))
                sum.template add_linear<around_keys ? -1 : 1>(r, r.scores, i, j);
            else
                sum.add(r, r.scores, i, j);
        });
    }
    /// Of an outer token and a row, beside its pairs' other scores.
    template <class Lane>
    constexpr float lift_of(const Lane& r, int outer, int row) const {
        return side_.outer_rows()
                   ? half_at(block_, r, shared(layout_.outer_table) + outer * outer_stride_ + row - reached_.first)
                   : 0.0f;
    }

private:
    static constexpr int kInnerStride = Layout::inner_stride(tile_outer, around_keys);

    constexpr std::uint16_t* shared(int bytes) const { return block_.template shared<std::uint16_t>(bytes); }
    constexpr bool exists(int query) const { return query < side_.forward().queries_of(sample_).count; }

    /// What r.grads hold of the inner table's columns.
    template <class Lane>
    [[gnu::always_inline]] constexpr void keep_boxes(int columns, int first_box) const {
        block_.each([&](Lane& r) {
            unrolled<8>([&](auto c) {
                const int column = Layout::kBoxRows * (first_box + block_.warpgroup(r)) + 8 * c;
                if (column < columns)
                    keep_pairs(block_, r, r.grads[c], scale(), shared(layout_.inner_table), kInnerStride,
                               r.warp() % 4 * 16, column);
            });
        });
    }

    Block& block_;
    HopperProducts<Scalar, width, Block> products_;
    const Side side_;
    const Tiles tiles_;
    const Layout layout_;
    int outer_stride_, head_, sample_;
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
