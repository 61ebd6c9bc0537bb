#pragma once
// Position scores of the kernels on tensor cores: tables of them in shared memory, products of tokens with rows of the
// relative table kept as halves, and the sum of a pair's three scores.
#include "cuda/fused/half_types.h"
#include "cuda/fused/layout.h"
#include "cuda/fused/operand_rows.h"

namespace locus::cuda {

/// What was kept as a half.
template <class Block, class Lane>
constexpr float half_at(Block& block, const Lane& r, const std::uint16_t* place) {
    return to_float(Half{block.load(r, place)});
}

/// The lane's four numbers of a 16 x 8 part of a table, scaled, as halves.
template <class Block, class Lane>
constexpr void keep_vector(Block& block, Lane& r, const float (&c)[4], float scale, std::uint16_t* table, int stride,
                           int first_row, int first_column) {
    unrolled<4>([&](auto n) {
        const int row = first_row + r.group() + n / 2 * 8, column = first_column + 2 * r.pair() + n % 2;
        block.store(r, table + row * stride + column, to_finite_half(c[n] * scale).bits);
    });
}

/// The same two at a time: stride and column are even.
template <class Block, class Lane>
constexpr void keep_pairs(Block& block, Lane& r, const float (&c)[4], float scale, std::uint16_t* table, int stride,
                          int first_row, int first_column) {
    unrolled<2>([&](auto below) {
        auto* to = reinterpret_cast<std::uint32_t*>(table + (first_row + r.group() + 8 * below) * stride +
                                                    first_column + 2 * r.pair());
        block.store(r, to, packed_finite(c[2 * below] * scale, c[2 * below + 1] * scale));
    });
}

/// A Block of so many threads, whose lanes have b[4] and table[4] for what is in flight.
template <class Scalar, int width, int threads, class Block>
class PositionTables {
public:
    /// scale: of every score.
    constexpr PositionTables(Block& block, float scale) : block_(block), operands_(block), scale_(scale) {}

    /// table[token, n] for the block's tokens, bands of 16 and left factors already, and the first `count` of the
    /// relative rows, as many at a time as the window in shared memory holds.  Warps with the same band share the rows.
    template <int bands, class Left>
    constexpr void fill_of_block(std::uint16_t* table, int stride, std::uint16_t* window, int window_rows,
                                 const Scalar* relative, int count, Left left) {
        constexpr int kSharers = threads / 32 / bands;
        for (int first = 0; first < count; first += window_rows) {
            const int here = smaller(window_rows, count - first), columns = round_up(here, 8);
            operands_.copy(window, relative + static_cast<long long>(first) * width, width, columns, here);
            block_.arrive();
            for (int column = 0; column < columns; column += 8 * kSharers) {
                const auto wished = [&](auto& r) { return column + 8 * (r.sharer(bands)); };
                block_.each([](auto& r) { clear(r.table); });
                operands_.multiply(
                    window, [&](auto& r) { return smaller(wished(r), columns - 8); }, left,
                    [](auto& r) -> auto& { return r.table; });
                block_.each([&](auto& r) {
                    if (wished(r) < columns)
                        keep_vector(block_, r, r.table, scale_, table, stride, 16 * r.band(bands), first + wished(r));
                });
            }
            block_.sync();
        }
    }

    /// table[token, n] for a tile of tokens in shared memory and the window's first `count` rows; the warps take 16
    /// tokens, by way of the left factors that left(lane) names, and every so many columns.
    template <int tile, class Left>
    constexpr void fill_of_tile(std::uint16_t* table, int stride, const std::uint16_t* tokens,
                                const std::uint16_t* window, int count, Left left) {
        constexpr int kWarps = threads / 32, kBands = tile / 16, kSharers = kWarps / kBands;
        static_assert(kWarps % kBands == 0, "the relative rows are shared out among the warps");
        unrolled<width / 16>([&](auto step) {
            operands_.load_left(
                tokens, [](auto& r) { return 16 * r.band(kBands); },
                step, [&](auto& r) -> auto& { return left(r)[step]; });
        });
        // Every warp makes the same number of rounds; in the last one some repeat a part, and keep nothing.
        const int columns = round_up(count, 8), rounds = (columns / 8 + kSharers - 1) / kSharers;
        for (int round = 0; round < rounds; ++round) {
            const auto wished = [&](auto& r) { return 8 * (round * kSharers + r.sharer(kBands)); };
            block_.each([](auto& r) { clear(r.table); });
            operands_.multiply(
                window, [&](auto& r) { return smaller(wished(r), columns - 8); }, left,
                [](auto& r) -> auto& { return r.table; });
            block_.each([&](auto& r) {
                if (wished(r) < columns)
                    keep_vector(block_, r, r.table, scale_, table, stride, 16 * r.band(kBands), wished(r));
            });
        }
    }

private:
    Block& block_;
    OperandRows<Scalar, width, threads, Block> operands_;
    float scale_;
};

// The sum of a pair's three scores: q k^T from registers, c2p and p2c from tables in shared memory, each
// by the row of the relative table that the pair's distance has.

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

    /// The same where both terms are on and the row of the lane's cells is a step further at every place, up or down:
    /// every cell lies at a distance from the first one that the compiler knows.
    template <int step, class Lane>
    constexpr void add_linear(Lane& r, const Cells& c2c, int i, int j) const {
        r.lift[0] = r.lift[1] = 0;
        const int row = block.load(r, from.places + place_in_tile(i, j, tile_columns));
        const std::uint16_t *of_rows = from.of_rows + i * from.row_stride + row - from.row_first,
                            *of_columns = from.of_columns + j * from.column_stride + row - from.column_first;
        unrolled<2>([&](auto below) {
            const std::uint16_t *at_rows = of_rows + 8 * below * (from.row_stride + step),
                                *at_columns = of_columns + 8 * below * step;
            unrolled<columns / 8>([&](auto n) {
                unrolled<2>([&](auto column) {
                    const int right = 8 * n + column, cell = 2 * below + column;
                    r.scores[n][cell] = c2c[n][cell] * scale + half_at(block, r, at_rows - step * right) +
                                        half_at(block, r, at_columns + right * (from.column_stride - step));
                });
            });
        });
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
                    const int cell = 2 * side + column;
                    r.scores[n][cell] = c2c[n][cell] * scale + of_column;
                });
            });
        });
    }
};

}  // namespace locus::cuda
