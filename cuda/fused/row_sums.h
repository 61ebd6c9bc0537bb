#pragma once
// Sums of the backward kernels in shared memory: halves of a sum that two warps have in their registers, and the
// gradients of scores summed by relative row.
#include "cuda/fused/arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/lanes.h"
#include "cuda/fused/online_softmax.h"
#include "cuda/fused/operand_rows.h"

namespace locus::cuda {

/// One warp puts its half of a sum into shared memory, the other adds it.  [16 bands, width] numbers; warp n has a half
/// of the band n modulo `bands`, as accumulators lie.
template <int width, int bands, class Block>
struct HalfSums {
    Block& block;
    float* sums;  // room for all of them

    template <class Lane>
    constexpr void hand_over(Lane& r, const float (&numbers)[width / 8][4]) const {
        unrolled<width / 8>([&](auto n) {
            unrolled<4>([&](auto e) { block.store(r, sums + place_of(r, 4 * n + e), numbers[n][e]); });
        });
    }
    /// After a barrier.
    template <class Lane>
    constexpr void take_over(const Lane& r, float (&numbers)[width / 8][4]) const {
        unrolled<width / 8>([&](auto n) {
            unrolled<4>([&](auto e) { numbers[n][e] += block.load(r, sums + place_of(r, 4 * n + e)); });
        });
    }

private:
    /// Number after number, those of all lanes side by side.
    template <class Lane>
    static constexpr int place_of(const Lane& r, int number) {
        return (number * bands + r.band(bands)) * 32 + r.lane();
    }
};

/// The gradients of a block's scores, summed by relative row in the place of its position scores.
/// A cell of the table holds a score until the last pair of its row has passed, and then the sum of their gradients:
/// both are numbers of 16 bits.  Two warps hold the gradients of a band of 16 tokens, each of one half of the tile's
/// inner ones; one lane of every quad runs along a token, 8 tokens a warp.
template <class Scalar, int width, int tile_inner, bool around_keys, int threads, class Block>
class RowSums {
public:
    static constexpr int kBands = threads / 64, kTokens = 16 * kBands;

    constexpr explicit RowSums(Block& block) : block_(block), operands_(block) {}

    /// table: `stride` numbers apart, a column for each of the reached rows.
    constexpr void start(std::uint16_t* table, int stride, RowRange reached) {
        table_ = table;
        stride_ = stride;
        reached_ = reached;
        block_.each([&](auto& r) { r.running.start(reached.count); });
    }
    constexpr RowRange reached() const { return reached_; }

    /// The gradients in the lanes' registers, where all pairs of the tile share a row.   halves: room for two sums of
    /// every token.
    constexpr void add_row(int row, float* halves) {
        block_.each([](auto& r) {
            clear(r.table);
            unrolled<tile_inner / 16>([&](auto n) { unrolled<4>([&](auto e) { r.table[e / 2] += r.grads[n][e]; }); });
        });
        block_.quad_sum([](auto& r) -> float& { return r.table[0]; });
        block_.quad_sum([](auto& r) -> float& { return r.table[1]; });
        block_.each([&](auto& r) {
            if (r.pair() < 2)
                block_.store(r, halves + r.sharer(kBands) * kTokens + 16 * r.band(kBands) + r.group() + 8 * r.pair(),
                             r.pair() == 0 ? r.table[0] : r.table[1]);
        });
        block_.sync();
        block_.each([&](auto& r) {
            if (!has_token(r)) return;
            const float sum = block_.load(r, halves + token_of(r)) + block_.load(r, halves + kTokens + token_of(r));
            r.running.add(row - reached_.first, sum, reached_.count, into_table(r));
        });
    }

    /// The same by the row at every place of the tile.   grads: room for the tile's gradients as numbers of 16 bits.
    constexpr void add_places(std::uint32_t* grads, const std::uint16_t* places) {
        constexpr int kStride = operand_stride(tile_inner) / 2;  // in pairs
        block_.each([&](auto& r) {
            const int first = r.sharer(kBands) * tile_inner / 4;
            unrolled<tile_inner / 16>([&](auto n) {
                unrolled<2>([&](auto below) {
                    const int outer = 16 * r.band(kBands) + r.group() + 8 * below;
                    block_.store(r, grads + outer * kStride + first + 4 * n + r.pair(),
                                 packed<Scalar>(r.grads[n][2 * below], r.grads[n][2 * below + 1]));
                });
            });
        });
        block_.sync();
        block_.each([&](auto& r) {
            if (!has_token(r)) return;
            for (int pair = 0; pair < tile_inner / 2; ++pair) {
                const std::uint32_t two = block_.load(r, grads + token_of(r) * kStride + pair);
                const std::uint16_t* place = places + place_in_tile(token_of(r), 2 * pair, tile_inner);
                r.running.add(block_.load(r, place) - reached_.first, to_float(Scalar{static_cast<std::uint16_t>(two)}),
                              reached_.count, into_table(r));
                r.running.add(block_.load(r, place - 1) - reached_.first,
                              to_float(Scalar{static_cast<std::uint16_t>(two >> 16)}), reached_.count, into_table(r));
            }
        });
    }

    /// No pair is left: every cell holds a sum.
    constexpr void finish() {
        block_.each([&](auto& r) {
            if (has_token(r)) r.running.finish(reached_.count, into_table(r));
        });
        block_.sync();
    }

    /// d_tokens += sums times the reached relative rows, as many at a time as the window holds, a multiple of 32; the
    /// warps of a band share them.
    constexpr void multiply(std::uint16_t* window, int window_rows, const Scalar* relative) {
        for (int first = 0; first < reached_.count; first += window_rows) {
            const int count = smaller(window_rows, reached_.count - first);
            operands_.copy(window, relative + static_cast<long long>(first) * width, width, round_up(count, 16), count);
            block_.arrive();
            const int rows = round_up(count, 16);
            for (int step = 0; step < rows; step += 32) {
                // The last rows may be one warp's alone: where the other's would be there are no sums.
                const auto wished = [&](auto& r) { return step + 16 * (r.sharer(kBands)); };
                block_.each([&](auto& r) {
                    const int row = 16 * r.band(kBands) + r.group(), column = first + wished(r) + 2 * r.pair();
                    r.a[0][0] = two_sums(r, row, column);
                    r.a[0][1] = two_sums(r, row + 8, column);
                    r.a[0][2] = two_sums(r, row, column + 8);
                    r.a[0][3] = two_sums(r, row + 8, column + 8);
                });
                unrolled<width / 16>([&](auto n) {
                    operands_.multiply_down(
                        window, [&](auto& r) { return smaller(wished(r), rows - 16); }, 16 * n,
                        [](auto& r) { return r.a[0]; }, [=](auto& r) { return &r.d_tokens[2 * n]; });
                });
            }
            block_.sync();
        }
    }

    /// Into global memory: so many tokens and columns, the first column that of relative row `first`.
    constexpr void store(Scalar* to, long long row, int tokens, int first, int columns) const {
        block_.each([&](auto& r) {
            const int outer0 = 8 * r.warp();
            for (int outer = outer0; outer < smaller(outer0 + 8, tokens); ++outer)
                for (int column = 2 * r.lane(); column < columns; column += 64)
                    block_.store_pair(to + outer * row + column, two_sums(r, outer, column - (reached_.first - first)));
        });
    }

private:
    template <class Lane>
    static constexpr bool has_token(const Lane& r) {
        return r.pair() == 0;
    }
    template <class Lane>
    static constexpr int token_of(const Lane& r) {
        return 8 * r.warp() + r.group();
    }
    template <class Lane>
    constexpr auto into_table(Lane& r) const {
        return [this, &r](int column, float sum) {
            block_.store(r, table_ + token_of(r) * stride_ + column, from_float<Scalar>(sum).bits);
        };
    }
    /// Columns that the block does not reach are 0.
    template <class Lane>
    constexpr std::uint32_t sum_at(const Lane& r, int outer, int column) const {
        return column >= 0 && column < reached_.count ? block_.load(r, table_ + outer * stride_ + column)
                                                      : std::uint32_t{0};
    }
    template <class Lane>
    constexpr std::uint32_t two_sums(const Lane& r, int outer, int column) const {
        return sum_at(r, outer, column) | sum_at(r, outer, column + 1) << 16;
    }

    Block& block_;
    OperandRows<Scalar, width, threads, Block> operands_;
    std::uint16_t* table_ = nullptr;
    int stride_ = 0;
    RowRange reached_{0, 0};
};

}  // namespace locus::cuda
