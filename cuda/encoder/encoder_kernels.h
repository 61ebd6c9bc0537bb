#pragma once
// The small kernels of an encoder that stays on the device: rows that a norm adds up, and the neighbours that a
// convolution reads.  Rows are a multiple of kRowStep apart, with zeros behind the channels.
#include "cuda/fused/norm_rows.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

/// x += the piece, if there is one.
template <class Scalar>
constexpr void add_piece(const Scalar* from, float (&x)[kPiece<Scalar>]) {
    if (!from) return;
    const Piece<Scalar> piece = piece_at(from);
    for (int e = 0; e < kPiece<Scalar>; ++e) x[e] += to_float(piece.x[e]);
}

/// Word, type and position rows of a token.  core/models/deberta.cpp
template <class Scalar>
struct EmbeddedRows {
    const Scalar *words, *types, *positions;  // [V,row], [types,row] or none, [places,row] or none
    const int *ids, *type_ids, *places;       // [rows]
    int row;
    constexpr void add(int n, int column, float (&x)[kPiece<Scalar>]) const {
        add_piece(words + row_start(ids[n], row) + column, x);
        if (types) add_piece(types + row_start(type_ids[n], row) + column, x);
        if (positions) add_piece(positions + row_start(places[n], row) + column, x);
    }
};

/// The same into memory, a piece a thread: where a projection comes before the norm.
template <class Scalar>
struct EmbedCell {
    EmbeddedRows<Scalar> source;
    Scalar* out;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, source.row / kPiece<Scalar>);
        float x[kPiece<Scalar>] = {};
        source.add(cell.i, cell.j * kPiece<Scalar>, x);
        Piece<Scalar> made{};
        for (int e = 0; e < kPiece<Scalar>; ++e) made.x[e] = from_float<Scalar>(x[e]);
        put_piece(out + row_start(cell.i, source.row) + cell.j * kPiece<Scalar>, made);
    }
};

/// product + bias + residual; of a hidden row bias + residual, as if its product were 0.
template <class Scalar>
struct SummedRows {
    const Scalar* product;
    const float* bias;            // [channels] or none
    const Scalar* residual;       // or none
    const std::uint8_t* visible;  // [rows]; nullptr: all are visible
    int row, channels;
    constexpr void add(int n, int column, float (&x)[kPiece<Scalar>]) const {
        if (!visible || visible[n] != 0) add_piece(product + row_start(n, row) + column, x);
        if (bias)
            for (int e = 0; e < kPiece<Scalar>; ++e)
                if (column + e < channels) x[e] += bias[column + e];
        if (residual) add_piece(residual + row_start(n, row) + column, x);
    }
};

/// The rows that the taps of a convolution read, side by side, so that the convolution is a product: taps of a token in
/// one group of channels, [tap][channel of the group], zeros beyond the ends of its sample.
template <class Scalar>
struct TapsCell {
    const Scalar* x;    // [rows,row]
    const int* sample;  // [rows]: which sample a row belongs to
    int rows, row, first_channel, channels, kernel;
    int step;      // channels rounded up to kRowStep: from a tap to the next
    Scalar* taps;  // [rows,kernel * step]
    constexpr void operator()(long long n) const {
        const int pieces = step / kPiece<Scalar>;
        const CellIndex cell = cell_of(n, kernel * pieces);
        const int tap = cell.j / pieces, first = cell.j % pieces * kPiece<Scalar>;
        const int from = tap_row(cell.i, tap, kernel);
        Piece<Scalar> made{};
        if (from >= 0 && from < rows && sample[from] == sample[cell.i])
            for (int e = 0; e < kPiece<Scalar>; ++e)
                if (first + e < channels) made.x[e] = x[row_start(from, row) + first_channel + first + e];
        put_piece(taps + row_start(cell.i, kernel * step) + tap * step + first, made);
    }
};

}  // namespace locus::cuda
