#pragma once
// Warpgroup products of the Hopper kernels.  Each function makes one group that the tensor cores work on while
// the warpgroup continues; registers are fenced before, and waited for after, by the caller.
#include "cuda/fused/lanes.h"
#include "cuda/hopper/hopper_layout.h"

namespace locus::cuda {

/// Boxes are 64 rows of shared memory with all their channels.
template <class Scalar, int width, class Block>
class HopperProducts {
public:
    static constexpr int kPanels = width / kPanelChannels, kPanel = HopperLayout::kBoxRows * kPanelRow;

    constexpr explicit HopperProducts(Block& block) : block_(block) {}

    /// c[64, 64] = 64 tokens in registers, left(lane), times the rows of a box.   adds: c += that.
    template <bool adds = false, class Left, class C>
    [[gnu::always_inline]] constexpr void multiply(int box, Left left, C c) {
        each_constant<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t rows = advanced(rows_descriptor(block_.address(box)), channels_of_step(kStep));
            block_.template multiply_held<Scalar, false, (adds || kStep > 0)>([&](auto& r) {
                return Held{left(r)[kStep], rows, c(r)};
            });
        });
        block_.commit_products();
    }

    /// c[64, 64] = rows of the box `left` times those of the box `right`, from its byte first(lane) on.
    template <bool adds = false, class First, class C>
    [[gnu::always_inline]] constexpr void multiply_boxes(int left, int right, First first, C c) {
        each_constant<width / 16>([&](auto step) {
            constexpr int kStep = decltype(step)::value;
            const std::uint64_t rows = rows_descriptor(block_.address(left)),
                                columns = rows_descriptor(block_.address(right));
            block_.template multiply_shared<Scalar, (adds || kStep > 0)>([&](auto& r) {
                return Shared{advanced(rows, channels_of_step(kStep)),
                              advanced(columns, first(r) + channels_of_step(kStep)), c(r)};
            });
        });
        block_.commit_products();
    }

    /// sums[64, width] += factors[64, 64] in registers, factors(lane), times a box.
    template <class Factors, class Sums>
    [[gnu::always_inline]] constexpr void gather(int box, Factors factors, Sums sums) {
        unrolled<HopperLayout::kBoxRows / 16>([&](auto step) {
            unrolled<kPanels>([&](auto panel) {
                const std::uint64_t channels =
                    advanced(channels_descriptor(block_.address(box)), panel * kPanel + step * kStepOfRows);
                block_.template multiply_held<Scalar, true, true>([&](auto& r) {
                    return Held{factors(r)[step], channels, sums(r) + 8 * panel};
                });
            });
        });
        block_.commit_products();
    }

    /// 64 rows of a box that begins at box(lane), as left factors for a block's life.
    template <class Box, class Out>
    [[gnu::always_inline]] constexpr void load_left(Box box, Out out) {
        unrolled<width / 16>([&](auto step) {
            block_.template load_matrices<false>([&](auto& r) {
                const int matrix = r.lane() / 8, row = r.warp() % 4 * 16 + matrix % 2 * 8 + r.lane() % 8;
                const int channel = 16 * step + matrix / 2 * 8;
                const int place =
                    box(r) + channel / kPanelChannels * kPanel + place_in_panel(row, channel % kPanelChannels);
                return std::pair(block_.template shared<std::uint16_t>(place), &out(r)[step][0]);
            });
        });
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
