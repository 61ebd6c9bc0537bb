#pragma once
// Products of matrices on tensor cores: a block of warps has a tile of c, and takes 64 channels of a and b at a time
// into shared memory while it multiplies the 64 before.
//
// The text is written for whatever `Block` is, as fused_forward.h is: tests run it lane after lane on the host.
#include "cuda/encoder/product_arguments.h"
#include "cuda/fused/fused_index.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/lanes.h"
#include "cuda/reference/layers_kernels.h"

namespace locus::cuda {

/// The registers of one lane; its warp has so many rows and 32 columns of c.
template <int warp_rows>
struct TensorProductLane : LanePlace {
    std::uint32_t a[warp_rows / 16][4] = {};
    std::uint32_t b[4] = {};  // 16 columns
    float sums[warp_rows / 16][4][4] = {};
};

/// What is added to a sum, and what becomes of it.
template <class Scalar>
constexpr float finished(const ProductArguments<Scalar>& args, int column, float sum) {
    const float biased = args.bias ? sum + args.bias[column] : sum;
    return args.activates ? activated(biased, args.activation) : biased;
}

template <class Scalar, int tile_rows, int tile_columns, class Block>
class TensorProduct {
public:
    static constexpr int kWarpRows = tile_rows / 2, kWarpColumns = 32;
    using Lane = TensorProductLane<kWarpRows>;
    static constexpr int kDepth = 64;  // channels of a step
    static constexpr int kThreads = 2 * 32 * (tile_columns / kWarpColumns);
    static constexpr int kStride = operand_stride(kDepth);
    static constexpr int kBuffer = (tile_rows + tile_columns) * kStride;  // one step of a, then one of b
    static constexpr int kBytes = 2 * kBuffer * 2;
    static_assert(kWarpRows % 16 == 0 && tile_columns % kWarpColumns == 0);

    constexpr TensorProduct(Block& block, const ProductArguments<Scalar>& args, int row_tile, int column_tile)
        : block_(block), args_(args), row0_(row_tile * tile_rows), column0_(column_tile * tile_columns) {}

    constexpr void run() {
        block_.each([](Lane& r) {
            unrolled<kWarpRows / 16>([&](auto m) { unrolled<4>([&](auto n) { clear(r.sums[m][n]); }); });
        });
        prefetch(0, 0);
        for (int first = 0, buffer = 0; first < args_.depth; first += kDepth, buffer = 1 - buffer) {
            block_.arrive();  // this step is there, and nobody reads the one before any more
            if (first + kDepth < args_.depth) prefetch(first + kDepth, 1 - buffer);
            multiply(rows_of(buffer), columns_of(buffer));
        }
        store();
    }

private:
    using Factors = typename Block::Factors;

    constexpr std::uint16_t* rows_of(int buffer) const {
        return block_.template shared<std::uint16_t>(2 * buffer * kBuffer);
    }
    constexpr std::uint16_t* columns_of(int buffer) const { return rows_of(buffer) + tile_rows * kStride; }

    constexpr void prefetch(int first, int buffer) {
        const int channels = smaller(kDepth, args_.depth - first);
        copy(rows_of(buffer), args_.a + row0_ * args_.a_row + first, args_.a_row, tile_rows, args_.rows - row0_,
             channels);
        copy(columns_of(buffer), args_.b + column0_ * args_.b_row + first, args_.b_row, tile_columns,
             args_.columns - column0_, channels);
    }

    /// Rows from `valid` on and channels from `channels` on become zeros.
    constexpr void copy(std::uint16_t* to, const Scalar* from, long long stride, int count, int valid, int channels) {
        constexpr int kPieces = kDepth / 8;
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < count * kPieces; n += kThreads) {
                const int row = n / kPieces, channel = n % kPieces * 8;
                if (row < valid && channel < channels)
                    block_.copy16(r, to + row * kStride + channel, from + row * stride + channel);
                else
                    block_.zero16(r, to + row * kStride + channel);
            }
        });
    }

    static constexpr int first_row(const Lane& r) { return r.warp() % 2 * kWarpRows; }
    static constexpr int first_column(const Lane& r) { return r.warp() / 2 * kWarpColumns; }

    constexpr void multiply(const std::uint16_t* rows, const std::uint16_t* columns) {
        unrolled<kDepth / 16>([&](auto step) {
            constexpr int kChannel = 16 * decltype(step)::value;
            unrolled<kWarpRows / 16>([&](auto m) {
                block_.template load_matrices<false>([&](Lane& r) {
                    const int matrix = r.lane() / 8, row = first_row(r) + 16 * m + matrix % 2 * 8 + r.lane() % 8;
                    return std::pair(rows + row * kStride + kChannel + matrix / 2 * 8, &r.a[m][0]);
                });
            });
            unrolled<2>([&](auto half) {
                block_.template load_matrices<false>([&](Lane& r) {
                    const int matrix = r.lane() / 8, row = first_column(r) + 16 * half + matrix / 2 * 8 + r.lane() % 8;
                    return std::pair(columns + row * kStride + kChannel + matrix % 2 * 8, &r.b[0]);
                });
                unrolled<kWarpRows / 16>([&](auto m) {
                    block_.template multiply<Scalar>([&](Lane& r) {
                        return Factors{&r.a[m][0], r.b[0], r.b[1], &r.sums[m][2 * half][0]};
                    });
                    block_.template multiply<Scalar>([&](Lane& r) {
                        return Factors{&r.a[m][0], r.b[2], r.b[3], &r.sums[m][2 * half + 1][0]};
                    });
                });
            });
        });
    }

    constexpr void store() {
        block_.each([&](Lane& r) {
            unrolled<kWarpRows / 16>([&](auto m) {
                unrolled<2>([&](auto side) {
                    const int row = row0_ + first_row(r) + 16 * m + 8 * side + r.group();
                    if (row >= args_.rows) return;
                    unrolled<4>([&](auto n) {
                        const int column = column0_ + first_column(r) + 8 * n + 2 * r.pair();
                        if (column >= args_.columns) return;  // they come in pairs
                        block_.store_pair(args_.c + row * args_.c_row + column,
                                          packed<Scalar>(finished(args_, column, r.sums[m][n][2 * side]),
                                                         finished(args_, column + 1, r.sums[m][n][2 * side + 1])));
                    });
                });
            });
        });
    }

    Block& block_;
    const ProductArguments<Scalar>& args_;
    int row0_, column0_;
};

}  // namespace locus::cuda
