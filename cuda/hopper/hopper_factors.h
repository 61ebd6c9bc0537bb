#pragma once
// The products of the Hopper forward kernel: each a group that the tensor cores work on while the warpgroup goes on.
// Registers are fenced before, and waited for after, by the caller.
#include "cuda/fused/lanes.h"
#include "cuda/hopper/hopper_layout.h"
#include "cuda/hopper/hopper_operands.h"

namespace locus::cuda {

/// Boxes are 64 rows of shared memory with all their channels; lanes have q, p and context as HopperLane.
template <class Scalar, int width, class Block>
class HopperFactors {
public:
    static constexpr int kPanels = width / kPanelChannels, kPanel = HopperLayout::kBoxRows * kPanelRow;

    constexpr explicit HopperFactors(Block& block) : block_(block) {}

    /// c[64, 64] = queries of the warpgroup times the 64 rows of a box, as a group of products.
    template <class C>
    constexpr void multiply_queries(int box, C c) {
        unrolled<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t rows = advanced(rows_descriptor(block_.address(box)), channels_of_step(kStep));
            block_.template multiply_held<Scalar, false, (kStep > 0)>([&](auto& r) {
                return Held{r.q[kStep], rows, c(r)};
            });
        });
        block_.commit_products();
    }

    /// c[64, columns] = a tile's keys times rows of the window, from its byte first(lane) on, as a group of products.
    template <int columns, class First, class C>
    constexpr void multiply_keys(int keys, int window, First first, C c) {
        unrolled<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t left = rows_descriptor(block_.address(keys)),
                                right = rows_descriptor(block_.address(window));
            block_.template multiply_shared<Scalar, columns, (kStep > 0)>([&](auto& r) {
                return Shared{advanced(left, channels_of_step(kStep)),
                              advanced(right, first(r) + channels_of_step(kStep)), c(r)};
            });
        });
        block_.commit_products();
    }

    /// context += probabilities values.
    template <class Lane>
    constexpr void gather_values(int values) {
        unrolled<HopperLayout::kTileKeys / 16>([&](auto step) {
            unrolled<kPanels>([&](auto panel) {
                const std::uint64_t channels =
                    advanced(channels_descriptor(block_.address(values)), panel * kPanel + step * kStepOfRows);
                block_.template multiply_held<Scalar, true, true>([&](Lane& r) {
                    return Held{r.p[decltype(step)::value], channels, r.context + 8 * panel};
                });
            });
        });
        block_.commit_products();
    }

private:
    using Held = typename Block::HeldFactors;
    using Shared = typename Block::SharedFactors;

    static constexpr int channels_of_step(int step) {
        return 16 * step / kPanelChannels * kPanel + 16 * step % kPanelChannels / 16 * kStepOfChannels;
    }

    Block& block_;
};

}  // namespace locus::cuda
