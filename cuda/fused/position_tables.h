#pragma once
// Tables of position scores in shared memory: products of tokens with rows of the relative table, as halves.
#include "cuda/fused/half_types.h"
#include "cuda/fused/operand_rows.h"

namespace locus::cuda {

/// What was kept as a half.
template <class Block, class Lane>
constexpr float half_at(Block& block, const Lane& r, const std::uint16_t* place) {
    return to_float(Half{block.load(r, place)});
}

/// The lane's four numbers of a 16 x 8 piece of a table, scaled, as halves.
template <class Block, class Lane>
constexpr void keep_piece(Block& block, Lane& r, const float (&c)[4], float scale, std::uint16_t* table, int stride,
                          int first_row, int first_column) {
    unrolled<4>([&](auto n) {
        const int row = first_row + r.group() + n / 2 * 8, column = first_column + 2 * r.pair() + n % 2;
        block.store(r, table + row * stride + column, to_finite_half(c[n] * scale).bits);
    });
}

/// A Block of so many threads, whose lanes have b[4] and table[4] for what is on its way.
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
                        keep_piece(block_, r, r.table, scale_, table, stride, 16 * r.band(bands), first + wished(r));
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
                step, [&](auto& r) -> auto& { return left(r)[decltype(step)::value]; });
        });
        // Every warp makes the same number of rounds; in the last one some repeat a piece, and keep nothing.
        const int columns = round_up(count, 8), rounds = (columns / 8 + kSharers - 1) / kSharers;
        for (int round = 0; round < rounds; ++round) {
            const auto wished = [&](auto& r) { return 8 * (round * kSharers + r.sharer(kBands)); };
            block_.each([](auto& r) { clear(r.table); });
            operands_.multiply(
                window, [&](auto& r) { return smaller(wished(r), columns - 8); }, left,
                [](auto& r) -> auto& { return r.table; });
            block_.each([&](auto& r) {
                if (wished(r) < columns)
                    keep_piece(block_, r, r.table, scale_, table, stride, 16 * r.band(kBands), wished(r));
            });
        }
    }

private:
    Block& block_;
    OperandRows<Scalar, width, threads, Block> operands_;
    float scale_;
};

}  // namespace locus::cuda
