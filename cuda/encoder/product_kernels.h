#pragma once
// Products of matrices on tensor cores: a block of warps has a tile of c, and takes 64 channels of a and b at a time
// into shared memory while it multiplies the 64 before.
//
// `Block` is a parameter, as in fused_forward.h: tests run the kernels lane after lane on the host.
#include "cuda/encoder/product_arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/lanes.h"
#include "cuda/fused/layout.h"
#include "cuda/reference/layers_kernels.h"

namespace locus::cuda {

/// The registers of one lane; its warp has so many rows and 32 columns of c.
template <int warp_rows>
struct TensorProductLane : LaneBase {
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
            block_.arrive();  // this step is there, and no thread reads the one before any more
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
        constexpr int kVectors = kDepth / 8;
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < count * kVectors; n += kThreads) {
                const int row = n / kVectors, channel = n % kVectors * 8;
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
            const int channel = 16 * step;
            unrolled<kWarpRows / 16>([&](auto m) {
                block_.template load_matrices<false>([&](Lane& r) {
                    const int matrix = r.lane() / 8, row = first_row(r) + 16 * m + matrix % 2 * 8 + r.lane() % 8;
                    return std::pair(rows + row * kStride + channel + matrix / 2 * 8, &r.a[m][0]);
                });
            });
            unrolled<2>([&](auto half) {
                block_.template load_matrices<false>([&](Lane& r) {
                    const int matrix = r.lane() / 8, row = first_column(r) + 16 * half + matrix / 2 * 8 + r.lane() % 8;
                    return std::pair(columns + row * kStride + channel + matrix % 2 * 8, &r.b[0]);
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

// Products of matrices without tensor cores: float32 as it is, and 16-bit numbers whose rows do not come in eights.
// Every sum runs through the channels in their order, whatever the tile.

/// Four neighbours that travel together.
struct alignas(16) Four {
    float x[4];
};

/// A thread has 8 x 8 cells of c: rows 4 y .. 4 y + 3 and the same 64 further down, columns alike.
struct PlainProductLane : LaneBase {
    float a[8] = {}, b[8] = {};
    float sums[8][8] = {};

    constexpr int down() const { return thread / 16; }
    constexpr int across() const { return thread % 16; }
};

template <class Scalar, class Block>
class PlainProduct {
public:
    using Lane = PlainProductLane;
    static constexpr int kTile = 128, kThreads = 256, kDepth = 16;
    static constexpr int kStride = kTile + 4;                // numbers of a channel, and a step aside
    static constexpr int kBytes = 2 * kDepth * kStride * 4;  // a, then b, channel by channel

    constexpr PlainProduct(Block& block, const ProductArguments<Scalar>& args, int row_tile, int column_tile)
        : block_(block), args_(args), row0_(row_tile * kTile), column0_(column_tile * kTile) {}

    constexpr void run() {
        for (int first = 0; first < args_.depth; first += kDepth) {
            load(of_rows(), args_.a + row0_ * args_.a_row, args_.a_row, args_.rows - row0_, first);
            load(of_columns(), args_.b + column0_ * args_.b_row, args_.b_row, args_.columns - column0_, first);
            block_.sync();
            for (int channel = 0; channel < kDepth; ++channel) block_.each([&](Lane& r) { multiply(r, channel); });
            block_.sync();
        }
        store();
    }

private:
    constexpr float* of_rows() const { return block_.template shared<float>(0); }
    constexpr float* of_columns() const { return of_rows() + kDepth * kStride; }

    constexpr void load(float* to, const Scalar* from, long long stride, int valid, int first) {
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < kTile * kDepth; n += kThreads) {
                const int row = n / kDepth, channel = n % kDepth;
                const bool exists = row < valid && first + channel < args_.depth;
                block_.store(r, to + channel * kStride + row,
                             exists ? to_float(from[row * stride + first + channel]) : 0.0f);
            }
        });
    }

    /// 8 numbers of a channel: 4 from `at` on and 4 from 64 further.
    constexpr void take(const Lane& r, const float* channel, int at, float (&numbers)[8]) const {
        unrolled<2>([&](auto half) {
            const Four four = block_.load(r, reinterpret_cast<const Four*>(channel + 64 * half + at));
            unrolled<4>([&](auto e) { numbers[4 * half + e] = four.x[e]; });
        });
    }

    constexpr void multiply(Lane& r, int channel) const {
        take(r, of_rows() + channel * kStride, 4 * r.down(), r.a);
        take(r, of_columns() + channel * kStride, 4 * r.across(), r.b);
        unrolled<8>([&](auto i) { unrolled<8>([&](auto j) { r.sums[i][j] += r.a[i] * r.b[j]; }); });
    }

    constexpr void store() {
        block_.each([&](Lane& r) {
            unrolled<8>([&](auto i) {
                const int row = row0_ + 64 * (i / 4) + 4 * r.down() + i % 4;
                if (row >= args_.rows) return;
                unrolled<8>([&](auto j) {
                    const int column = column0_ + 64 * (j / 4) + 4 * r.across() + j % 4;
                    if (column >= args_.columns) return;
                    args_.c[row * args_.c_row + column] = from_float<Scalar>(finished(args_, column, r.sums[i][j]));
                });
            });
        });
    }

    Block& block_;
    const ProductArguments<Scalar>& args_;
    int row0_, column0_;
};

/// Bias and activation after a product that has neither, as those of cuBLAS.
/// Changes c in place, kCount numbers a thread; c rounded to Scalar before and after.
template <class Scalar, bool vectorised>
struct FinishKernel {
    static constexpr int kCount = vectorised ? kVectorSize<Scalar> : 1;
    ProductArguments<Scalar> args;

    static bool fits(const ProductArguments<Scalar>& args) {
        return args.columns % kCount == 0 && args.c_row % kCount == 0 &&
               reinterpret_cast<std::uintptr_t>(args.c) % (kCount * sizeof(Scalar)) == 0;
    }
    constexpr long long elements() const { return static_cast<long long>(args.rows) * (args.columns / kCount); }
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, args.columns / kCount);
        Scalar* at = args.c + cell.i * args.c_row + cell.j * kCount;
        if constexpr (vectorised) {
            Vector<Scalar> vector = load_vector(at);
            for (int e = 0; e < kCount; ++e) vector.x[e] = done(cell.j * kCount + e, vector.x[e]);
            store_vector(at, vector);
        } else {
            *at = done(cell.j, *at);
        }
    }

private:
    constexpr Scalar done(int column, Scalar sum) const {
        return from_float<Scalar>(finished(args, column, to_float(sum)));
    }
};

}  // namespace locus::cuda
