#pragma once
// Where the fused kernels find everything: which table rows a tile reaches, and how a block divides its shared memory.
// constexpr, so that a test on the host compares every pair of every size with RelativeBuckets.
#include <cstddef>
#include <cstdint>
#include <limits>

namespace locus::cuda {

constexpr int smaller(int a, int b) { return a < b ? a : b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

/// What a block of a launch works on: samples and the tiles of each stand in the launch's first axis, which may be
/// 2^31 - 1 long, heads in the second.  The others end at 65,535, and there may be more samples.
struct BlockPlace {
    int tile, head, sample;
};
constexpr int tiles_of(int tokens, int tile) { return (tokens + tile - 1) / tile; }
constexpr BlockPlace place_of_block(unsigned x, unsigned y, int tokens, int tile) {
    const auto tiles = static_cast<unsigned>(tiles_of(tokens, tile));
    return {static_cast<int>(x % tiles), static_cast<int>(y), static_cast<int>(x / tiles)};
}

/// Offsets i - j from first to last.
struct OffsetRange {
    int first, last;
};

/// Of the pairs that exist in the tile whose first query is i0 and first key j0.
constexpr OffsetRange offsets_of_tile(int i0, int j0, int tile_queries, int tile_keys, int queries, int keys) {
    return {i0 - (smaller(j0 + tile_keys, keys) - 1), smaller(i0 + tile_queries, queries) - 1 - j0};
}

/// Of a block of queries and every key.
constexpr OffsetRange offsets_of_block(int i0, int tile_queries, int queries, int keys) {
    return offsets_of_tile(i0, 0, tile_queries, keys, queries, keys);
}

/// Neighbouring rows of the relative table.
struct RowRange {
    int first, count;
};

/// True if the row rises by more than one somewhere from an offset to the next, as it does for log buckets whose
/// max_position is small beside their number (256 of both).
template <class Rows>
constexpr bool skips_rows(const Rows& rows) {
    for (std::size_t n = 1; n < rows.size(); ++n)
        if (rows[n] > rows[n - 1] + 1) return true;
    return false;
}

/// RelativeBuckets as the kernels read them: the table's row for offset o at rows[o + origin].  It never falls, so the
/// rows of a range of offsets are a range themselves.
struct BucketRows {
    const std::uint16_t* rows;
    int origin;
    /// skips_rows() of them.  Where it does not, n offsets reach at most n rows, and that is what the kernels on tensor
    /// cores have room for; where it does, or nobody knows, the portable ones serve.
    bool skips = true;
    /// All offsets up to the lower end have the least row, all from the upper end on the greatest; nobody has to know.
    int lower_end = std::numeric_limits<int>::min(), upper_end = std::numeric_limits<int>::max();

    constexpr int row(int offset) const { return rows[offset + origin]; }
    constexpr RowRange reached_by(OffsetRange offsets) const {
        return {row(offsets.first), row(offsets.last) - row(offsets.first) + 1};
    }
};

/// rows: on the host, the same as at `stored`, where the kernels will read them.
template <class Rows>
constexpr BucketRows bucket_rows(const Rows& rows, const std::uint16_t* stored, int origin) {
    BucketRows buckets{stored, origin, skips_rows(rows)};
    if (rows.size() == 0) return buckets;
    int lower = 0, upper = static_cast<int>(rows.size()) - 1;
    while (lower < upper && rows[static_cast<std::size_t>(lower + 1)] == rows[0]) ++lower;
    while (upper > 0 && rows[static_cast<std::size_t>(upper - 1)] == rows[rows.size() - 1]) --upper;
    buckets.lower_end = lower - origin;
    buckets.upper_end = upper - origin;
    return buckets;
}

/// The offsets of a tile are counted from its upper right corner: place 0 is query i0 beside the tile's last key.
constexpr int place_in_tile(int i_in_tile, int j_in_tile, int tile_keys) {
    return i_in_tile - j_in_tile + tile_keys - 1;
}
/// The offset at a place; a place of pairs that do not exist gives the nearest offset that does.
constexpr int offset_at_place(int place, int i0, int j0, int tile_keys, OffsetRange tile) {
    const int offset = place - (tile_keys - 1) + i0 - j0;
    return larger(tile.first, smaller(tile.last, offset));
}

/// Lengths of rows in shared memory, in 16-bit numbers, chosen for the 32 banks of 4 bytes.
/// Operands of tensor cores: 16-byte rows of 8 x 8 matrices start 16 bytes of banks apart.
constexpr int operand_stride(int width) { return width + 8; }
/// Scores of queries and table rows.  A quad of lanes reads neighbouring keys of a query, eight quads neighbouring
/// queries: place g * stride + g - 2 t, all in different banks if stride + 1 is 8 more than a multiple of 64.
constexpr int row_table_stride(int rows) { return round_up(larger(rows, 7) - 7, 64) + 7; }
/// Scores of keys and table rows, read at 2 t * stride + g - 2 t: stride - 1 is 8 more than a multiple of 32, so that
/// the four keys of a quad lie 8 banks apart and their eight queries, two to a word, between them.
constexpr int key_table_stride(int rows) { return round_up(larger(rows, 9) - 9, 32) + 9; }

/// How a block of the fused forward kernel divides its shared memory, in bytes.
/// Places of a block with so many queries, keys per tile, channels, and table rows that its queries reach.
struct ForwardLayout {
    int keys, values;  // two tiles each: one is used while the next arrives
    int window;        // rows of the relative table that a tile reaches; before that the queries, and rows for c2p
    int row_table;     // c2p scores of the block's queries with every row they reach
    int key_table;     // p2c scores of a tile's keys with every row of the window
    int places;        // the table's row at every place of a tile
    int visible;       // 1 where a key of the tile is
    int bytes;

    static constexpr int window_rows(int tile_queries, int tile_keys) {
        return round_up(tile_queries + tile_keys - 1, 16);
    }
    static constexpr ForwardLayout of(int tile_queries, int tile_keys, int width, int reached_rows, bool c2p,
                                      bool p2c) {
        const int operand = 2 * operand_stride(width);
        ForwardLayout at{};
        at.keys = 0;
        at.values = at.keys + 2 * tile_keys * operand;
        at.window = at.values + 2 * tile_keys * operand;
        at.row_table = at.window + window_rows(tile_queries, tile_keys) * operand;
        at.key_table =
            at.row_table + (c2p ? round_up(2 * tile_queries * row_table_stride(round_up(reached_rows, 8)), 16) : 0);
        at.places = at.key_table +
                    (p2c ? round_up(2 * tile_keys * key_table_stride(window_rows(tile_queries, tile_keys)), 16) : 0);
        at.visible = at.places + round_up(2 * (tile_queries + tile_keys), 16);
        at.bytes = at.visible + round_up(tile_keys, 16);
        return at;
    }
};

/// Around keys the rows of the relative table rise with the inner tokens, and neighbouring lanes read places whose
/// distance is one less than the stride, where it is one more in forward: row_table_stride() and key_table_stride()
/// with their two lengths exchanged.
constexpr int outer_table_stride(int rows, bool rising) {
    return rising ? round_up(larger(rows, 9) - 9, 64) + 9 : row_table_stride(rows);
}
constexpr int inner_table_stride(int rows, bool rising) {
    return rising ? round_up(larger(rows, 7) - 7, 32) + 7 : key_table_stride(rows);
}

/// Places of a block with so many outer tokens, inner tokens per tile, channels, and table rows that it reaches.
struct BackwardLayout {
    int outer_tokens, outer_values;
    int inner_tokens, inner_values;  // two tiles each: one is used while the next arrives
    int window;                      // rows of a relative table; later in a tile, the gradients of its scores, or the
                                     // two halves of their sums by row
    int outer_table;  // position scores of the block's tokens with every row they reach, and cell by cell, as the last
                      // pair of a row has passed, the sum of its pairs' gradients
    int inner_table;  // position scores of a tile's tokens with every row of the window
    int places;       // the relative table's row at every place of a tile
    int log_sums, deltas;  // of the queries
    int visible;           // 1 where a key is
    int bytes;

    static constexpr BackwardLayout of(int tile_outer, int tile_inner, int width, int reached_rows, bool around_keys,
                                       bool outer_term, bool inner_term) {
        const int operand = 2 * operand_stride(width), longest = larger(tile_outer, tile_inner);
        const int window_rows = ForwardLayout::window_rows(tile_outer, tile_inner);
        BackwardLayout at{};
        at.outer_tokens = 0;
        at.outer_values = at.outer_tokens + tile_outer * operand;
        at.inner_tokens = at.outer_values + tile_outer * operand;
        at.inner_values = at.inner_tokens + 2 * tile_inner * operand;
        at.window = at.inner_values + 2 * tile_inner * operand;
        at.outer_table = at.window + larger(window_rows * operand, 2 * tile_outer * operand_stride(tile_inner));
        at.inner_table =
            at.outer_table +
            (outer_term ? round_up(2 * tile_outer * outer_table_stride(round_up(reached_rows, 8), around_keys), 16)
                        : 0);
        at.places = at.inner_table +
                    (inner_term ? round_up(2 * tile_inner * inner_table_stride(window_rows, around_keys), 16) : 0);
        at.log_sums = at.places + round_up(2 * (tile_outer + tile_inner), 16);
        at.deltas = at.log_sums + 4 * longest;
        at.visible = at.deltas + 4 * longest;
        at.bytes = at.visible + longest;
        return at;
    }
};

}  // namespace locus::cuda
