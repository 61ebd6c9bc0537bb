#pragma once
// The small kernels of the encoder.  Layer norm of rows that are sums: what is added up comes from a `Source`, so that
// the sum is never written to memory. A warp has a row, all of it in registers; sums are float32.  core/models/layers.h
// has the formula.
#include <cmath>

#include "cuda/fused/half_types.h"
#include "cuda/fused/lanes.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

/// Channels of the longest row.
inline constexpr int kMostNormed = 2048;

/// A Source has  add(row, column, vector): adds the row's numbers from `column` on to kVectorSize<Scalar> floats.
template <class Scalar, class Source>
struct NormRowsArguments {
    Source source;
    const float *weight = nullptr, *bias = nullptr;  // [channels]
    const std::uint8_t* visible = nullptr;           // [rows], 0: the row becomes zeros; nullptr: all are visible
    Scalar* out = nullptr;                           // [rows,row], zeros after the channels; may be the source's
    int rows = 0, channels = 0;
    int row = 0;  // from a row to the next, a multiple of kRowStep
    float eps = 0;
};

/// numbers: of a row, that one lane holds.
template <int numbers>
struct NormLane : LaneBase {
    float x[numbers] = {};
    float sum = 0;
};

template <class Scalar, class Source, int numbers, class Block>
class NormRows {
public:
    using Lane = NormLane<numbers>;
    static constexpr int kWarps = 4, kThreads = 32 * kWarps;
    static constexpr int kMostChannels = 32 * numbers;

    constexpr NormRows(Block& block, const NormRowsArguments<Scalar, Source>& args, int tile)
        : block_(block), args_(args), row0_(tile * kWarps) {}

    constexpr void run() {
        block_.each([&](Lane& r) {
            r.sum = 0;
            if (exists(r)) load(r);
        });
        block_.warp_sum([](Lane& r) -> float& { return r.sum; });
        block_.each([&](Lane& r) {
            const float mean = r.sum / static_cast<float>(args_.channels);
            r.sum = 0;
            unrolled<numbers>([&](auto n) {
                if (channel(r, n) >= args_.channels) return;
                r.x[n] -= mean;
                r.sum += r.x[n] * r.x[n];
            });
        });
        block_.warp_sum([](Lane& r) -> float& { return r.sum; });
        block_.each([&](Lane& r) {
            if (exists(r)) store(r);
        });
    }

private:
    static constexpr int kCount = kVectorSize<Scalar>, kVectors = numbers / kCount;

    constexpr int row(const Lane& r) const { return row0_ + r.warp(); }
    constexpr bool exists(const Lane& r) const { return row(r) < args_.rows; }
    /// Neighbouring lanes have neighbouring vectors.
    static constexpr int channel(const Lane& r, int n) { return (n / kCount * 32 + r.lane()) * kCount + n % kCount; }

    constexpr void load(Lane& r) const {
        unrolled<kVectors>([&](auto vector) {
            const int first = channel(r, kCount * vector);
            if (first >= args_.channels) return;
            float x[kCount] = {};
            args_.source.add(row(r), first, x);
            unrolled<kCount>([&](auto e) {
                const float value = first + e < args_.channels ? x[e] : 0.0f;
                r.x[kCount * vector + e] = value;
                r.sum += value;
            });
        });
    }

    constexpr void store(Lane& r) const {
        const float deviation = std::sqrt(r.sum / static_cast<float>(args_.channels) + args_.eps);
        const bool visible = !args_.visible || args_.visible[row(r)] != 0;
        unrolled<kVectors>([&](auto vector) {
            const int first = channel(r, kCount * vector);
            if (first >= args_.row) return;
            Vector<Scalar> made{};
            unrolled<kCount>([&](auto e) {
                const int c = first + e;
                if (visible && c < args_.channels)
                    made.x[e] =
                        from_float<Scalar>(r.x[kCount * vector + e] / deviation * args_.weight[c] + args_.bias[c]);
            });
            store_vector(args_.out + static_cast<long long>(row(r)) * args_.row + first, made);
        });
    }

    Block& block_;
    const NormRowsArguments<Scalar, Source>& args_;
    int row0_;
};

// Sources of such sums, and the neighbours that a convolution reads.  Rows are a multiple of kRowStep apart, with zeros
// after the channels.

/// x += the vector, if there is one.
template <class Scalar>
constexpr void add_vector(const Scalar* from, float (&x)[kVectorSize<Scalar>]) {
    if (!from) return;
    const Vector<Scalar> vector = load_vector(from);
    for (int e = 0; e < kVectorSize<Scalar>; ++e) x[e] += to_float(vector.x[e]);
}

/// Word, type and position rows of a token.  core/models/deberta.cpp
template <class Scalar>
struct EmbeddedRows {
    const Scalar *words, *types, *positions;  // [V,row], [types,row] or none, [places,row] or none
    const int *ids, *type_ids, *places;       // [rows]
    int row;
    constexpr void add(int n, int column, float (&x)[kVectorSize<Scalar>]) const {
        add_vector(words + row_start(ids[n], row) + column, x);
        if (types) add_vector(types + row_start(type_ids[n], row) + column, x);
        if (positions) add_vector(positions + row_start(places[n], row) + column, x);
    }
};

/// The same into memory, a vector a thread: where a projection comes before the norm.
template <class Scalar>
struct EmbedKernel {
    EmbeddedRows<Scalar> source;
    Scalar* out;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, source.row / kVectorSize<Scalar>);
        float x[kVectorSize<Scalar>] = {};
        source.add(cell.i, cell.j * kVectorSize<Scalar>, x);
        Vector<Scalar> made{};
        for (int e = 0; e < kVectorSize<Scalar>; ++e) made.x[e] = from_float<Scalar>(x[e]);
        store_vector(out + row_start(cell.i, source.row) + cell.j * kVectorSize<Scalar>, made);
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
    constexpr void add(int n, int column, float (&x)[kVectorSize<Scalar>]) const {
        if (!visible || visible[n] != 0) add_vector(product + row_start(n, row) + column, x);
        if (bias)
            for (int e = 0; e < kVectorSize<Scalar>; ++e)
                if (column + e < channels) x[e] += bias[column + e];
        if (residual) add_vector(residual + row_start(n, row) + column, x);
    }
};

/// The rows that the taps of a convolution read, side by side, so that the convolution is a product: taps of a token in
/// one group of channels, [tap][channel of the group], zeros beyond the ends of its sample.
template <class Scalar>
struct TapsKernel {
    const Scalar* x;    // [rows,row]
    const int* sample;  // [rows]: which sample a row belongs to
    int rows, row, first_channel, channels, kernel;
    int step;      // channels rounded up to kRowStep: from a tap to the next
    Scalar* taps;  // [rows,kernel * step]
    constexpr void operator()(long long n) const {
        const int vectors = step / kVectorSize<Scalar>;
        const CellIndex cell = cell_of(n, kernel * vectors);
        const int tap = cell.j / vectors, first = cell.j % vectors * kVectorSize<Scalar>;
        const int from = tap_row(cell.i, tap, kernel);
        Vector<Scalar> made{};
        if (from >= 0 && from < rows && sample[from] == sample[cell.i])
            for (int e = 0; e < kVectorSize<Scalar>; ++e)
                if (first + e < channels) made.x[e] = x[row_start(from, row) + first_channel + first + e];
        store_vector(taps + row_start(cell.i, kernel * step) + tap * step + first, made);
    }
};

}  // namespace locus::cuda
