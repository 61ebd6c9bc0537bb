#pragma once
// Where the three scores of a pair come together: q k^T from registers, c2p and p2c from tables in shared memory, each
// by the row of the relative table that the pair's distance has.
#include "cuda/fused/fused_index.h"
#include "cuda/fused/position_tables.h"

namespace locus::cuda {

/// Position scores of a tile in shared memory, scaled, as halves.  Rows of the tile are queries, or keys in the
/// backward pass around keys; its columns are the others.
struct PositionScores {
    const std::uint16_t* of_rows;  // of tile row i and relative row r at i * row_stride + r - row_first; or nullptr
    int row_stride, row_first;
    const std::uint16_t*
        of_columns;  // of column j and relative row r at j * column_stride + r - column_first; or nullptr
    int column_stride, column_first;
    const std::uint16_t* places;  // the relative row of every place of the tile
};

/// For tiles with so many columns, of which a lane has its share of `columns`; lanes have scores[columns / 8][4] and
/// lift[2].
template <int tile_columns, int columns, class Block>
struct PositionSum {
    using Cells = float[columns / 8][4];

    Block& block;
    float scale;  // of what comes from registers
    const PositionScores& from;
    const RowRange& rows;  // that the tile reaches

    /// scores + lift of each row = scale c2c + c2p + p2c of the lane's cells.   c2c: may be those very scores; i, j: of
    /// the lane's first cell in the tile.
    template <class Lane>
    constexpr void add(Lane& r, const Cells& c2c, int i, int j) const {
        r.lift[0] = r.lift[1] = 0;
        if (rows.count == 1)
            add_constants(r, c2c, i, j);
        else if (from.of_rows && from.of_columns)
            add_by_place<true, true>(r, c2c, i, j);
        else if (from.of_rows)
            add_by_place<true, false>(r, c2c, i, j);
        else
            add_by_place<false, true>(r, c2c, i, j);
    }

private:
    /// Each pair by the row of its place; which terms there are is known before the first pair.
    template <bool by_row, bool by_column, class Lane>
    constexpr void add_by_place(Lane& r, const Cells& c2c, int i, int j) const {
        constexpr int kFirstPlace = place_in_tile(0, 0, tile_columns);
        // All that differs from cell to cell is added last, so that it is one step, or known to the compiler.
        const std::uint16_t *places = from.places + place_in_tile(i, j, tile_columns),
                            *of_rows = by_row ? from.of_rows + i * from.row_stride - from.row_first : nullptr,
                            *of_columns =
                                by_column ? from.of_columns + j * from.column_stride - from.column_first : nullptr;
        unrolled<columns / 8>([&](auto n) {
            unrolled<4>([&](auto e) {
                const int down = e / 2 * 8, right = 8 * n + e % 2;
                const int row = block.load(r, places + (place_in_tile(down, right, tile_columns) - kFirstPlace));
                float score = c2c[n][e] * scale;
                if constexpr (by_row) score += half_at(block, r, of_rows + down * from.row_stride + row);
                if constexpr (by_column) score += half_at(block, r, of_columns + right * from.column_stride + row);
                r.scores[n][e] = score;
            });
        });
    }

    /// The same where all pairs of the tile share one row: a number per column, and one per row, which stays apart.
    template <class Lane>
    constexpr void add_constants(Lane& r, const Cells& c2c, int i, int j) const {
        if (from.of_rows)
            for (int side = 0; side < 2; ++side)
                r.lift[side] =
                    half_at(block, r, from.of_rows + (i + 8 * side) * from.row_stride + rows.first - from.row_first);
        unrolled<columns / 8>([&](auto n) {
            unrolled<2>([&](auto column) {
                const int right = 8 * n + column;
                const float of_column =
                    from.of_columns ? half_at(block, r, from.of_columns + (j + right) * from.column_stride) : 0.0f;
                unrolled<2>([&](auto side) {
                    constexpr int kCell = 2 * decltype(side)::value + decltype(column)::value;
                    r.scores[n][kCell] = c2c[n][kCell] * scale + of_column;
                });
            });
        });
    }
};

}  // namespace locus::cuda
