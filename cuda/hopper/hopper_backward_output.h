#pragma once
// What the Hopper backward kernel writes into global memory: the gradients of the outer tokens and values, and those of
// the scores, summed by token and relative row.
#include "cuda/fused/half_types.h"
#include "cuda/fused/lanes.h"
#include "cuda/hopper/hopper_backward_layout.h"

namespace locus::cuda {

/// Lanes have d_tokens and d_values, first[2] and last[2], and factors.
template <class Scalar, int width, int tile_outer, bool around_keys, class Block>
class BackwardOutput {
public:
    using Side = BackwardSide<Scalar, around_keys>;
    using Tiles = BackwardTiles<Scalar, tile_outer, around_keys>;

    constexpr BackwardOutput(Block& block, const Side& side, const Tiles& tiles, int head, int sample, int outer0)
        : block_(block), side_(side), tiles_(tiles), head_(head), sample_(sample), outer0_(outer0) {}

    /// Which columns of the outer table hold sums of the lane's two tokens.
    template <class Lane>
    [[gnu::always_inline]] constexpr void note_reached(RowRange reached) const {
        if (reached.count == 0) return;
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto below) {
                const int outer = outer_of(r, below), begin = tiles_.row_of(outer, 0) - reached.first,
                          end = tiles_.row_of(outer, tiles_.inners() - 1) - reached.first;
                r.first[below] = smaller(begin, end);
                r.last[below] = larger(begin, end);
            });
        });
    }

    /// 64 columns of the sums, from `from` on, as left factors, and into global memory from column `to` on.
    template <class Lane, class Sums>
    [[gnu::always_inline]] constexpr void take_sums(const Sums& sums, int from, int to) const {
        Scalar* rows = table_rows();
        const int columns = side_.args.columns - to;
        block_.each([&](Lane& r) {
            unrolled<2>([&](auto below) {
                const int outer = outer_of(r, below), left = 2 * r.pair();
                Scalar* stored = rows + outer * side_.table().row + to + left;
                const bool exists = tiles_.exists(outer);
                unrolled<8>([&](auto n) {
                    const std::uint32_t two =
                        sums.two_sums(r, outer, from + left + 8 * n, r.first[below], r.last[below]);
                    r.factors[n / 2][n % 2 * 2 + below] = two;
                    if (exists && left + 8 * n < columns) block_.store_pair(stored + 8 * n, two);
                });
            });
        });
    }
    /// Columns that the block does not reach.
    template <class Lane>
    [[gnu::always_inline]] constexpr void store_zeros(int first, int end) const {
        Scalar* rows = table_rows();
        block_.each([&](Lane& r) {
            for (int outer = 16 * r.warp(); outer < 16 * r.warp() + 16 && tiles_.exists(outer); ++outer)
                for (int column = first + 2 * r.lane(); column < end; column += 64)
                    block_.store_pair(rows + outer * side_.table().row + column, std::uint32_t{0});
        });
    }

    template <class Lane>
    [[gnu::always_inline]] constexpr void store() const {
        block_.each([&](Lane& r) {
            store_rows(r, side_.d_outer(), r.d_tokens, side_.forward().scale);
            if constexpr (around_keys) store_rows(r, side_.args.d_v, r.d_values, 1);
        });
    }

private:
    template <class Lane>
    static constexpr int outer_of(const Lane& r, int below) {
        return 16 * r.warp() + r.group() + 8 * below;
    }
    constexpr Scalar* table_rows() const {
        return ForwardArguments<Scalar>::at(side_.table(), side_.outer(sample_), sample_, head_) +
               outer0_ * side_.table().row;
    }
    template <class Lane, class Numbers>
    constexpr void store_rows(const Lane& r, const Rows<Scalar>& rows, const Numbers& numbers, float factor) const {
        Scalar* to = ForwardArguments<Scalar>::at(rows, side_.outer(sample_), sample_, head_);
        unrolled<2>([&](auto below) {
            if (!tiles_.exists(outer_of(r, below))) return;
            Scalar* row = to + (outer0_ + outer_of(r, below)) * rows.row + 2 * r.pair();
            unrolled<width / 8>([&](auto n) {
                block_.store_pair(row + 8 * n,
                                  packed<Scalar>(numbers[n][2 * below] * factor, numbers[n][2 * below + 1] * factor));
            });
        });
    }

    Block& block_;
    const Side side_;
    const Tiles tiles_;
    int head_, sample_, outer0_;
};

}  // namespace locus::cuda
