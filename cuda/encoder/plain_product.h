#pragma once
// Products of matrices without tensor cores: float32 as it is, and 16-bit numbers whose rows do not come in eights.
// Every sum runs through the channels in their order, whatever the tile.
#include "cuda/fused/tensor_product.h"

namespace locus::cuda {

/// Four neighbours that travel together.
struct alignas(16) Four {
    float x[4];
};

/// A thread has 8 x 8 cells of c: rows 4 y .. 4 y + 3 and the same 64 further down, columns alike.
struct PlainProductLane : LanePlace {
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

}  // namespace locus::cuda
