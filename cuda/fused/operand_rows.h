#pragma once
// Rows of 16-bit numbers in shared memory, and tensor cores that multiply them.
#include <utility>

#include "cuda/fused/lanes.h"
#include "cuda/fused/layout.h"

namespace locus::cuda {

/// Rows of `width` channels, operand_stride(width) apart; a Block of so many threads.
template <class Scalar, int width, int threads, class Block>
class OperandRows {
public:
    using Factors = typename Block::Factors;
    static constexpr int kStride = operand_stride(width);

    constexpr explicit OperandRows(Block& block) : block_(block) {}

    /// Rows of a matrix into shared memory, 16 bytes a lane; rows from `valid` on become zeros.
    constexpr void copy(std::uint16_t* to, const Scalar* from, long long stride, int count, int valid) {
        constexpr int kVectors = width / 8;
        block_.each([&](auto& r) {
            for (int n = r.thread; n < count * kVectors; n += threads) {
                const int row = n / kVectors, column = n % kVectors * 8;
                if (row < valid)
                    block_.copy16(r, to + row * kStride + column, from + row * stride + column);
                else
                    block_.zero16(r, to + row * kStride + column);
            }
        });
    }

    /// 16 rows from first(lane) on, channels 16 step and 15 more, as the left factor.
    template <class First, class Out>
    constexpr void load_left(const std::uint16_t* rows, First first, int step, Out out) {
        block_.template load_matrices<false>([&](auto& r) {
            const int matrix = r.lane() / 8, row = first(r) + matrix % 2 * 8 + r.lane() % 8;
            return std::pair(rows + row * kStride + 16 * step + matrix / 2 * 8, &out(r)[0]);
        });
    }

    /// 16 columns from column(lane) on of the 16 rows from `first` on, transposed, as the left factor.
    template <class Column, class Out>
    constexpr void load_left_transposed(const std::uint16_t* rows, int first, Column column, Out out) {
        block_.template load_matrices<true>([&](auto& r) {
            const int matrix = r.lane() / 8, row = first + matrix / 2 * 8 + r.lane() % 8;
            return std::pair(rows + row * kStride + column(r) + matrix % 2 * 8, &out(r)[0]);
        });
    }

    /// c[16,8] += a[16,width] b[8,width]^T of a warp; a and c in registers, b the rows from first(lane) on, which lie
    /// transposed as they are.
    template <class First, class A, class C>
    constexpr void multiply(const std::uint16_t* rows, First first, A a, C c) {
        unrolled<width / 32>([&](auto steps) {
            const int step = 2 * steps;
            block_.template load_matrices<false>([&](auto& r) {
                return std::pair(rows + (first(r) + r.lane() % 8) * kStride + 32 * steps + r.lane() / 8 * 8, &r.b[0]);
            });
            block_.template multiply<Scalar>([&](auto& r) {
                return Factors{&a(r)[step][0], r.b[0], r.b[1], &c(r)[0]};
            });
            block_.template multiply<Scalar>([&](auto& r) {
                return Factors{&a(r)[step + 1][0], r.b[2], r.b[3], &c(r)[0]};
            });
        });
    }

    /// c[16,8] and the next 8 columns += a[16,16] b[16,16] of a warp; b the rows from first(lane) and the columns from
    /// `column` on, as they lie.
    template <class First, class A, class C>
    constexpr void multiply_down(const std::uint16_t* rows, First first, int column, A a, C c) {
        block_.template load_matrices<true>([&](auto& r) {
            const int matrix = r.lane() / 8, row = first(r) + matrix % 2 * 8 + r.lane() % 8;
            return std::pair(rows + row * kStride + column + matrix / 2 * 8, &r.b[0]);
        });
        block_.template multiply<Scalar>([&](auto& r) { return Factors{a(r), r.b[0], r.b[1], c(r)[0]}; });
        block_.template multiply<Scalar>([&](auto& r) { return Factors{a(r), r.b[2], r.b[3], c(r)[1]}; });
    }

private:
    Block& block_;
};

}  // namespace locus::cuda
