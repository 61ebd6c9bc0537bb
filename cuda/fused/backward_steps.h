#pragma once
// What the fused backward kernels do with pairs: what is known of a block's tokens, and the derivative of the softmax.
#include "cuda/fused/arguments.h"
#include "cuda/fused/dropout.h"
#include "cuda/fused/layout.h"
#include "cuda/fused/online_softmax.h"

namespace locus::cuda {

/// For a Block of two warps for every band of 16 outer tokens, each with one half of a tile's inner ones.
template <class Scalar, int tile_outer, int tile_inner, bool around_keys, class Block>
class BackwardSteps {
public:
    static constexpr int kBands = tile_outer / 16, kThreads = 64 * kBands;
    static constexpr int kInner = tile_inner / 2;  // a warp's, of a tile
    using Side = BackwardSide<Scalar, around_keys>;

    constexpr BackwardSteps(Block& block, const Side& side, const BackwardLayout& layout, int head, int sample,
                            int outer0)
        : block_(block), side_(side), layout_(layout), head_(head), sample_(sample), outer0_(outer0) {}

    /// Where in the tile a lane's warp begins.
    template <class Lane>
    static constexpr int first_row(const Lane& r) {
        return 16 * r.band(kBands);
    }
    template <class Lane>
    static constexpr int first_inner(const Lane& r) {
        return r.sharer(kBands) * kInner;
    }

    /// What is known of the block's own tokens.
    constexpr void note_outer() const {
        block_.each([&](auto& r) {
            for (int n = r.thread; n < tile_outer; n += kThreads) {
                if constexpr (around_keys)
                    note_key(r, n, outer0_ + n);
                else
                    note_query(r, n, outer0_ + n);
            }
        });
    }
    /// The relative row at every place, and what is known of the tile's tokens.
    constexpr void note_inner(int inner0, OffsetRange offsets, RowRange rows) const {
        block_.each([&](auto& r) {
            if (rows.count > 1)
                for (int place = r.thread; place < tile_outer + tile_inner - 1; place += kThreads)
                    block_.store(r, shared<std::uint16_t>(layout_.places) + place,
                                 static_cast<std::uint16_t>(row_at(place, inner0, offsets)));
            for (int n = r.thread; n < tile_inner; n += kThreads) {
                if constexpr (around_keys)
                    note_query(r, n, inner0 + n);
                else
                    note_key(r, n, inner0 + n);
            }
        });
    }

    /// Scores (with their lift) and the probabilities' gradients become probabilities and the scores' gradients.
    template <class Lane>
    constexpr void differentiate(Lane& r, int inner0) const {
        if (sees_all(inner0))
            differentiate_tile<false>(r, inner0);
        else
            differentiate_tile<true>(r, inner0);
    }

private:
    template <class Value>
    constexpr Value* shared(int bytes) const {
        return block_.template shared<Value>(bytes);
    }
    template <class Lane>
    constexpr void note_key(Lane& r, int n, int key) const {
        block_.store(r, shared<std::uint8_t>(layout_.visible) + n,
                     static_cast<std::uint8_t>(side_.is_visible(sample_, key)));
    }
    /// Probabilities of queries without a key, and of none at all, are 2^-inf.
    template <class Lane>
    constexpr void note_query(Lane& r, int n, int query) const {
        const bool exists = query < side_.forward().queries_of(sample_).count;
        const long long place = side_.place_of_query(sample_, head_, query);
        block_.store(r, shared<float>(layout_.log_sums) + n,
                     exists ? side_.forward().log_sum[place] * kLog2e : -kNothing);
        block_.store(r, shared<float>(layout_.deltas) + n, exists ? side_.args.delta[place] : 0.0f);
    }
    /// A place of pairs that do not exist gives the row of the nearest offset that does.
    constexpr int row_at(int place, int inner0, OffsetRange offsets) const {
        const int ahead = place - (tile_inner - 1) + outer0_ - inner0, offset = around_keys ? -ahead : ahead;
        return side_.forward().buckets.row(larger(offsets.first, smaller(offsets.last, offset)));
    }

    /// No key of the tile is hidden, and none is missing.
    constexpr bool sees_all(int inner0) const {
        const bool all_there = around_keys ? outer0_ + tile_outer <= side_.outer(sample_).count
                                           : inner0 + tile_inner <= side_.inner(sample_).count;
        return all_there && !side_.forward().visible_keys;
    }
    template <bool hides, class Lane>
    constexpr void differentiate_tile(Lane& r, int inner0) const {
        const ForwardArguments<Scalar>& forward = side_.forward();
        const std::uint32_t key =
            forward.dropout > 0 ? dropout_key(forward.seed, static_cast<std::uint32_t>(sample_ * forward.heads + head_))
                                : 0;
        unrolled<kInner / 8>([&](auto n) {
            unrolled<2>([&](auto below) {
                const int outer = first_row(r) + r.group() + 8 * below,
                          inner_of_two = first_inner(r) + 8 * n + 2 * r.pair();
                float kept[2] = {1, 1};
                if (forward.dropout > 0)
                    dropout_factors<around_keys>(kept, key, forward.dropout,
                                                 side_.query(outer0_ + outer, inner0 + inner_of_two),
                                                 side_.key(outer0_ + outer, inner0 + inner_of_two));
                unrolled<2>([&](auto column) {
                    const int inner = inner_of_two + column;
                    const int query = side_.query(outer, inner), at_key = side_.key(outer, inner);
                    const bool visible = !hides || block_.load(r, shared<std::uint8_t>(layout_.visible) + at_key) != 0;
                    const float log_sum = block_.load(r, shared<float>(layout_.log_sums) + query),
                                delta = block_.load(r, shared<float>(layout_.deltas) + query);
                    float &score = r.scores[n][2 * below + column], &grad = r.grads[n][2 * below + column];
                    const float prob = visible ? block_.exp2(score + r.lift[below] - log_sum) : 0.0f;
                    grad = prob * (grad * kept[column] - delta);
                    score = prob * kept[column];
                });
            });
        });
    }

    Block& block_;
    const Side side_;  // no references to the kernel's own parts: they would put its registers into memory
    const BackwardLayout layout_;
    int head_, sample_, outer0_;
};

}  // namespace locus::cuda
