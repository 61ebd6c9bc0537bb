#pragma once
// 16 bytes of neighbouring numbers that travel together.
#include "cuda/fused/half_types.h"

namespace locus::cuda {

/// How many numbers that is.
template <class Scalar>
inline constexpr int kPiece = 16 / static_cast<int>(sizeof(Scalar));

template <class Scalar>
struct alignas(16) Piece {
    Scalar x[kPiece<Scalar>];
};

/// from: at a multiple of 16 bytes.
template <class Scalar>
constexpr Piece<Scalar> piece_at(const Scalar* from) {
    return *reinterpret_cast<const Piece<Scalar>*>(from);
}
template <class Scalar>
constexpr void put_piece(Scalar* to, const Piece<Scalar>& piece) {
    *reinterpret_cast<Piece<Scalar>*>(to) = piece;
}

/// Rows are as long as their channels rounded up to this, with zeros at the end, so that pieces never straddle.
inline constexpr int kRowStep = 8;

}  // namespace locus::cuda
