#pragma once
// Where the fused kernels find everything: which table rows a tile reaches, and the places in shared memory. constexpr,
// so that a test on the host compares every pair of every size with the bucket line.
#include <cstdint>

namespace locus::cuda {

constexpr int smaller(int a, int b) { return a < b ? a : b; }
constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

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

/// The slot line as the kernels read it: the table's row for offset o at rows[o + origin].  It never falls, so the rows
/// of a range of offsets are a range themselves.
struct SlotLine {
    const std::uint16_t* rows;
    int origin;

    constexpr int row(int offset) const { return rows[offset + origin]; }
    constexpr RowRange reached_by(OffsetRange offsets) const {
        return {row(offsets.first), row(offsets.last) - row(offsets.first) + 1};
    }
};

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

}  // namespace locus::cuda
