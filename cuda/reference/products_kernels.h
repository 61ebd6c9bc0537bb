#pragma once
// Bias and activation after a product that takes neither along.
#include "cuda/fused/tensor_product.h"
#include "cuda/fused/vector_load.h"

namespace locus::cuda {

/// Changes c where it lies, so many numbers a thread; c rounded to Scalar before and after.
template <class Scalar, bool pieces>
struct FinishCell {
    static constexpr int kCount = pieces ? kPiece<Scalar> : 1;
    ProductArguments<Scalar> args;

    static bool fits(const ProductArguments<Scalar>& args) {
        return args.columns % kCount == 0 && args.c_row % kCount == 0 &&
               reinterpret_cast<std::uintptr_t>(args.c) % (kCount * sizeof(Scalar)) == 0;
    }
    constexpr long long cells() const { return static_cast<long long>(args.rows) * (args.columns / kCount); }
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, args.columns / kCount);
        Scalar* at = args.c + cell.i * args.c_row + cell.j * kCount;
        if constexpr (pieces) {
            Piece<Scalar> piece = piece_at(at);
            for (int e = 0; e < kCount; ++e) piece.x[e] = done(cell.j * kCount + e, piece.x[e]);
            put_piece(at, piece);
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
