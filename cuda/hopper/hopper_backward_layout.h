#pragma once
// How a block of the Hopper backward kernel divides its shared memory, in bytes, and what it knows of the tiles of
// inner tokens that it goes through.
#include "cuda/fused/arguments.h"
#include "cuda/hopper/hopper_layout.h"

namespace locus::cuda {

/// What the inner tokens of two neighbouring columns bring along: logarithms of forward's sums, and delta.  Around
/// queries 0, and +inf where a key is hidden.
struct alignas(16) ColumnPair {
    float log_sum[2], delta[2];
};

/// Places of a block with so many outer tokens, channels, and relative rows that it reaches.
struct HopperBackwardLayout {
    static constexpr int kBoxRows = HopperLayout::kBoxRows, kInner = kBoxRows;
    static constexpr int kSlots = 3;   // boxes of the window
    static constexpr int kStages = 3;  // tiles of inner tokens; near the diagonal all but the first

    int window;  // boxes of relative rows; far from the diagonal the row that all pairs share, 64 times, and a stage
    int stages;  // boxes of inner tokens and inner values; the first lies where the window's last boxes do
    int outer_table;  // position scores of the block's tokens with every row they reach; cell by cell, as the last pair
                      // of a row has passed, the sum of its pairs' gradients
    int inner_table;  // position scores of a tile's tokens with every row of the window; then the gradients of the
                      // tile's scores.  Far from the diagonal the columns of many tiles
    int places;       // the relative row at every place of a tile, and at one more on either side
    int changes;      // a bit per place: its row is another than that of the place before
    int columns;      // of a tile
    int carry;        // sums of rows whose pairs are not all in one tile, twice
    int barriers;     // 8 bytes each
    int bytes;

    static constexpr int kColumnBytes = kInner / 2 * static_cast<int>(sizeof(ColumnPair));
    /// Gradients of a tile's scores, pairs of 16-bit numbers.  Two lanes run along each of 16 tokens, half a row apart:
    /// places 37 t + 16 h, in 32 different banks.
    static constexpr int kGradStride = 37;

    /// Lengths of the tables' rows, in 16-bit numbers, even, so that two of them are stored at once, and with room for
    /// groups of eight, which is how they are stored.  Rows of the outer table are read at g * stride + g - 2 t, around
    /// keys at g * stride - g + 2 t: 9 numbers from one g to the next.
    static constexpr int outer_stride(int rows, bool around_keys) {
        const int offset = around_keys ? 10 : 8;
        return round_up(larger(round_up(rows, 8), offset) - offset, 64) + offset;
    }
    /// Those of the inner table at 2 t * stride + g - 2 t, around keys at 2 t * stride + 2 t - g: 9 words from t to t.
    static constexpr int inner_stride(int tile_outer, bool around_keys) {
        const int offset = around_keys ? 8 : 10;
        return round_up(tile_outer + kInner - offset, 32) + offset;
    }
    /// Rows for which the outer table must have room: one more than a block reaches, so that columns begin at an even
    /// one.
    static constexpr int capacity(int table_rows, int tile_outer, int inners) {
        return smaller(table_rows, tile_outer + inners);
    }

    /// The barriers: one of every box of the window, then of every stage that it is filled, and that it is used.
    static constexpr int barrier_of_stage(int stage) { return kSlots + stage; }
    static constexpr int barrier_of_used(int stage) { return kSlots + kStages + stage; }
    static constexpr int kBarriers = kSlots + 2 * kStages;

    static constexpr HopperBackwardLayout of(int tile_outer, int width, int reached_rows, bool around_keys,
                                             bool outer_term, bool inner_term) {
        const int box = HopperLayout::box_bytes(width), places = round_up(2 * (tile_outer + kInner + 2), 16);
        HopperBackwardLayout at{};
        at.window = 0;
        at.stages = at.window + box;
        at.outer_table = at.stages + kStages * 2 * box;
        at.inner_table =
            at.outer_table + (outer_term ? round_up(2 * tile_outer * outer_stride(reached_rows, around_keys), 16) : 0);
        at.places = at.inner_table + larger(inner_term ? 2 * kInner * inner_stride(tile_outer, around_keys) : 0,
                                            4 * tile_outer * kGradStride);
        at.changes = at.places + places;
        at.columns = at.changes + 32;  // 8 words
        at.carry = at.columns + kColumnBytes;
        at.barriers = at.carry + 2 * 4 * tile_outer;
        at.bytes = at.barriers + 8 * kBarriers;
        return at;
    }
    /// How many tiles' columns have room in place of the inner table.
    constexpr int tiles_of_columns() const { return (places - inner_table) / kColumnBytes; }
};

/// A tile of inner tokens and its pairs with the block's outer ones.
struct BackwardTile {
    int inner0;           // the first inner token
    OffsetRange offsets;  // of the pairs that exist, and of those beside them at both ends
    RowRange rows;        // that its pairs reach
};

/// The tiles of a block.  Around queries rows fall along the inner tokens, around keys they rise.
template <class Scalar, int tile_outer, bool around_keys>
class BackwardTiles {
public:
    using Side = BackwardSide<Scalar, around_keys>;
    static constexpr int kInner = HopperBackwardLayout::kInner;

    constexpr BackwardTiles(const Side& side, int sample, int outer0)
        : side_(side),
          outer0_(outer0),
          outers_(side.outer(sample).count),
          inners_(side.inner(sample).count),
          sample_(sample) {}

    constexpr int count() const { return tiles_of(inners_, kInner); }
    constexpr int inners() const { return inners_; }
    constexpr int outers() const { return outers_; }
    constexpr bool exists(int outer) const { return outer0_ + outer < outers_; }
    /// All 64 inner tokens of a tile exist.
    constexpr bool is_complete(const BackwardTile& tile) const { return tile.inner0 + kInner <= inners_; }
    constexpr bool positions() const { return side_.outer_rows() || side_.inner_rows(); }
    constexpr const BucketRows& buckets() const { return side_.forward().buckets; }

    /// The tiles before `near` and those from `far` on, up to `complete`, reach one row each, the first or the last of
    /// the table.
    struct Parts {
        int near, far, complete;
    };
    constexpr Parts parts() const {
        const int complete = inners_ / kInner;
        if (side_.forward().dropout > 0) return {0, complete, complete};
        if (!positions()) return {complete, complete, complete};
        // Inner tokens so far from the block's first and last outer token that all offsets are beyond an end.
        const long long last = smaller(outer0_ + tile_outer, outers_) - 1, lower = buckets().lower_end,
                        upper = buckets().upper_end;
        const long long before = around_keys ? outer0_ + lower + 1 : outer0_ - upper + 1;  // so many inner tokens
        const long long from = around_keys ? last + upper : last - lower;                  // and those from here on
        const int near = whole_tiles(before, complete);
        const int far = whole_tiles(from + kInner - 1, complete);
        return {near, larger(near, far), complete};
    }

    constexpr BackwardTile at(int number) const {
        const int inner0 = number * kInner;
        const OffsetRange offsets = side_.offsets(outer0_, inner0, tile_outer, kInner, sample_);
        // Of the last outer token with the inner token before, and of the first one with the inner token behind.
        const int before = inner0 > 0, behind = inner0 + kInner < inners_;
        BackwardTile tile{inner0, offsets, {0, 1}};
        (around_keys ? tile.offsets.first : tile.offsets.last) += around_keys ? -before : before;
        (around_keys ? tile.offsets.last : tile.offsets.first) += around_keys ? behind : -behind;
        // Where outer tokens are missing, places of theirs have the row of the pair before.
        if (positions())
            tile.rows = buckets().reached_by(outer0_ + tile_outer <= outers_ ? offsets : prolonged(offsets, before));
        return tile;
    }

    /// Of a place from -1 to tile_outer + 63: the row of its pairs; where none exist, of the nearest one.
    constexpr int row_at(const BackwardTile& tile, int place) const {
        const int ahead = place - (kInner - 1) + outer0_ - tile.inner0, offset = around_keys ? -ahead : ahead;
        return buckets().row(larger(tile.offsets.first, smaller(tile.offsets.last, offset)));
    }
    /// Of a pair whose inner token exists; outer tokens that do not exist have the row of the last one.
    constexpr int row_of(int outer, int inner) const { return side_.row(smaller(outer0_ + outer, outers_ - 1), inner); }

private:
    static constexpr int whole_tiles(long long tokens, int most) {
        const long long tiles = tokens < 0 ? 0 : tokens / kInner;
        return tiles < most ? static_cast<int>(tiles) : most;
    }
    static constexpr OffsetRange prolonged(OffsetRange offsets, int before) {
        return around_keys ? OffsetRange{offsets.first - before, offsets.last}
                           : OffsetRange{offsets.first, offsets.last + before};
    }

    const Side side_;
    int outer0_, outers_, inners_, sample_;
};

}  // namespace locus::cuda
