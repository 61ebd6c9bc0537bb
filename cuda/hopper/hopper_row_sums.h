#pragma once
// Gradients of scores, summed by relative row in the place of the position scores: a cell of the outer table holds a
// score until the last pair of its row has passed, and then the sum of their gradients.  Rows are neighbours along a
// token's pairs: lanes run along them with one number each.  A warp has all of its 16 tokens' pairs of a tile, and a
// row that goes on in the next tile is carried there.
#include <bit>

#include "cuda/fused/lanes.h"
#include "cuda/hopper/hopper_backward_layout.h"

namespace locus::cuda {

/// Lanes have factors[4][4], the gradients of a tile's scores as left factors, and sums[2], handed_on and ends.
template <class Scalar, int tile_outer, bool around_keys, class Block>
class HopperRowSums {
public:
    using Layout = HopperBackwardLayout;
    using Tiles = BackwardTiles<Scalar, tile_outer, around_keys>;
    static constexpr int kInner = Layout::kInner;

    constexpr HopperRowSums(Block& block, const Tiles& tiles, const Layout& layout, int stride)
        : block_(block), tiles_(tiles), layout_(layout), stride_(stride) {}

    /// reached: the rows of the table's columns.
    constexpr void start(RowRange reached) { reached_ = reached; }

    /// The lanes' sums of inner tokens from `first` to before `end`, all of which share a row with every outer token.
    template <class Lane>
    [[gnu::always_inline]] constexpr void add_row(int row, int first, int end) {
        block_.quad_sum([](Lane& r) -> float& { return r.sums[0]; });
        block_.quad_sum([](Lane& r) -> float& { return r.sums[1]; });
        const float* carried = carry(parity_);
        float* carries = carry(1 - parity_);
        block_.each([&](Lane& r) {
            const int token = 16 * r.warp() + r.group() + 8 * r.pair();
            if (r.pair() > 1 || !tiles_.exists(token)) return;
            float sum = r.pair() == 0 ? r.sums[0] : r.sums[1];
            if (first > 0 && tiles_.row_of(token, first - 1) == row) sum += block_.load(r, carried + token);
            if (end < tiles_.inners() && tiles_.row_of(token, end) == row)
                block_.store(r, carries + token, sum);
            else
                store(r, token, row, sum);
        });
        parity_ = 1 - parity_;
    }

    /// Every pair of the lane's is a row of its own, and the lane has used its score.
    template <class Lane>
    [[gnu::always_inline]] constexpr void store_pairs(Lane& r) const {
        constexpr int kStep = around_keys ? -1 : 1;
        const int outer = 16 * r.warp() + r.group(), place = place_in_tile(outer, 2 * r.pair(), kInner);
        std::uint16_t* cell = table() + outer * stride_ + block_.load(r, places() + place) - reached_.first;
        unrolled<8>([&](auto n) {
            unrolled<2>([&](auto below) {
                const std::uint32_t two = r.factors[n / 2][n % 2 * 2 + below];
                std::uint16_t* to = cell + 8 * below * (stride_ + kStep) - kStep * 8 * n;
                block_.store(r, to, static_cast<std::uint16_t>(two));
                block_.store(r, to - kStep, static_cast<std::uint16_t>(two >> 16));
            });
        });
    }

    /// Otherwise, in two steps with a barrier between: the gradients into shared memory,
    template <class Lane>
    [[gnu::always_inline]] constexpr void hand_over(Lane& r) const {
        std::uint32_t* to = grads() + (16 * r.warp() + r.group()) * Layout::kGradStride + r.pair();
        unrolled<8>([&](auto n) {
            unrolled<2>([&](auto below) {
                block_.store(r, to + 8 * below * Layout::kGradStride + 4 * n, r.factors[n / 2][n % 2 * 2 + below]);
            });
        });
    }
    /// and two lanes along every token, each with one half of its pairs.  A row that goes on in the second half is
    /// handed on to that lane, which keeps the sum of its own first row until then.
    ///   is_linear(lane): nothing was handed over.
    template <class Lane, class IsLinear>
    [[gnu::always_inline]] constexpr void add_places(const BackwardTile& tile, IsLinear is_linear) {
        block_.each([&](Lane& r) {
            r.sums[0] = 0;
            if (tiles_.exists(token_of(r)) && !is_linear(r)) run_along(r, tile);
        });
        unrolled<2>([&](auto parity) {
            block_.each([&](Lane& r) { r.handed_on = r.lane() % 4 == parity ? r.sums[0] : 0.0f; });
            block_.quad_sum([](Lane& r) -> float& { return r.handed_on; });
            block_.each([&](Lane& r) {
                if (r.lane() % 4 == 2 + parity && tiles_.exists(token_of(r)) && !is_linear(r)) end_run(r, r.handed_on);
            });
        });
        parity_ = 1 - parity_;
    }

    /// The sums of two neighbouring columns of a token whose pairs reach the columns from `first` to `last`; column:
    /// even.
    template <class Lane>
    [[gnu::always_inline]] constexpr std::uint32_t two_sums(const Lane& r, int token, int column, int first,
                                                            int last) const {
        const int stored = smaller(column, (reached_.count - 1) / 2 * 2);
        const std::uint32_t two =
            block_.load(r, reinterpret_cast<const std::uint32_t*>(table() + token * stride_ + stored));
        const auto is_reached = [&](int at) {
            return static_cast<unsigned>(at - first) <= static_cast<unsigned>(last - first);
        };
        return two & ((is_reached(column) ? 0xffffu : 0) | (is_reached(column + 1) ? 0xffff0000u : 0));
    }
    constexpr RowRange reached() const { return reached_; }

private:
    constexpr std::uint16_t* table() const { return block_.template shared<std::uint16_t>(layout_.outer_table); }
    constexpr float* carry(int parity) const {
        return block_.template shared<float>(layout_.carry) + parity * tile_outer;
    }
    template <class Lane>
    constexpr void store(Lane& r, int token, int row, float sum) const {
        block_.store(r, table() + token * stride_ + row - reached_.first, from_float<Scalar>(sum).bits);
    }

    constexpr const std::uint16_t* places() const { return block_.template shared<std::uint16_t>(layout_.places) + 1; }
    constexpr std::uint32_t* grads() const { return block_.template shared<std::uint32_t>(layout_.inner_table); }

    static constexpr int kHalf = kInner / 2;
    /// Neighbours in a quad have neighbouring tokens; the other two have their second halves.
    template <class Lane>
    static constexpr int token_of(const Lane& r) {
        return 16 * r.warp() + 2 * r.group() + r.lane() % 2;
    }

    /// Half a token's pairs: complete sums into the table, that of the second half's first row into sums[1], too; what
    /// is left goes on in sums[0].
    template <class Lane>
    [[gnu::always_inline]] constexpr void run_along(Lane& r, const BackwardTile& tile) const {
        constexpr int kStep = around_keys ? -1 : 1;
        const int token = token_of(r), half = r.lane() / 2 % 2;
        // Places fall as inner tokens rise: from this one to 31 before.
        const int place = token + kInner - 1 - half * kHalf, last = place - kHalf + 1;
        std::uint32_t pairs[kHalf / 2] = {};
        unrolled<kHalf / 2>(
            [&](auto n) { pairs[n] = block_.load(r, grads() + token * Layout::kGradStride + half * (kHalf / 2) + n); });
        std::uint32_t ends = changes_from(r, last);
        if (half == 1 && tile.inner0 + kInner >= tiles_.inners()) ends |= 1;
        const std::uint32_t first_end = half == 0 ? 0 : highest_bit(ends);
        std::uint16_t* cell = table() + token * stride_ - reached_.first + block_.load(r, places() + place);
        const bool goes_on = half == 0 && tile.inner0 > 0 && !changes_at(r, place + 1);
        float sum = goes_on ? block_.load(r, carry(parity_) + token) : 0.0f, head = 0;
        unrolled<kHalf>([&](auto n) {
            const std::uint32_t two = pairs[n / 2], bit = 1u << (kHalf - 1 - n);
            sum += n % 2 == 0 ? lower<Scalar>(two) : upper<Scalar>(two);
            if (first_end & bit) head = sum;
            if (ends & bit) {
                block_.store(r, cell, from_float<Scalar>(sum).bits);
                cell -= kStep;
                sum = 0;
            }
        });
        r.sums[0] = sum;
        r.sums[1] = head;
        r.ends = ends;
    }
    /// The second half's first row is complete now, or all of it is one row that goes on.
    template <class Lane>
    constexpr void end_run(Lane& r, float handed_on) const {
        const int token = token_of(r);
        if (r.ends)
            store(r, token, block_.load(r, places() + token + kHalf - 1), r.sums[1] + handed_on);
        else
            r.sums[0] += handed_on;
        if ((r.ends & 1) == 0) block_.store(r, carry(1 - parity_) + token, r.sums[0]);
    }

    template <class Lane>
    constexpr bool changes_at(const Lane& r, int place) const {
        return (block_.load(r, block_.template shared<std::uint32_t>(layout_.changes) + place / 32) >> place % 32 &
                1) != 0;
    }
    /// 32 bits, the lowest that of `place`: its row is another than that of the place before.
    template <class Lane>
    constexpr std::uint32_t changes_from(const Lane& r, int place) const {
        const std::uint32_t* words = block_.template shared<std::uint32_t>(layout_.changes) + place / 32;
        const std::uint64_t lower = block_.load(r, words), upper = block_.load(r, words + 1);
        return static_cast<std::uint32_t>((upper << 32 | lower) >> place % 32);
    }
    static constexpr std::uint32_t highest_bit(std::uint32_t bits) {
        return bits ? 0x80000000u >> std::countl_zero(bits) : 0;
    }

    Block& block_;
    const Tiles tiles_;
    const Layout layout_;
    int stride_;
    int parity_ = 0;  // of the carried sums that are there
    RowRange reached_{0, 1};
};

}  // namespace locus::cuda
