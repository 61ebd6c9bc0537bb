#pragma once
// Layer norm of rows that are sums: what is added up comes from a `Source`, so that the sum never lies in memory.  A
// warp has a row, all of it in registers; sums are float32.  core/models/layers.h has the formula.
#include <cmath>

#include "cuda/fused/lanes.h"
#include "cuda/fused/vector_load.h"

namespace locus::cuda {

/// Channels of the longest row.
inline constexpr int kMostNormed = 2048;

/// A Source has  add(row, column, piece): adds the row's numbers from `column` on to kPiece<Scalar> floats.
template <class Scalar, class Source>
struct NormRowsArguments {
    Source source;
    const float *weight = nullptr, *bias = nullptr;  // [channels]
    const std::uint8_t* visible = nullptr;           // [rows], 0: the row becomes zeros; nullptr: all are visible
    Scalar* out = nullptr;                           // [rows,row], zeros behind the channels; may be the source's
    int rows = 0, channels = 0;
    int row = 0;  // from a row to the next, a multiple of kRowStep
    float eps = 0;
};

/// numbers: of a row, that one lane holds.
template <int numbers>
struct NormLane : LanePlace {
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
    static constexpr int kCount = kPiece<Scalar>, kPieces = numbers / kCount;

    constexpr int row(const Lane& r) const { return row0_ + r.warp(); }
    constexpr bool exists(const Lane& r) const { return row(r) < args_.rows; }
    /// Neighbouring lanes have neighbouring pieces.
    static constexpr int channel(const Lane& r, int n) { return (n / kCount * 32 + r.lane()) * kCount + n % kCount; }

    constexpr void load(Lane& r) const {
        unrolled<kPieces>([&](auto piece) {
            const int first = channel(r, kCount * piece);
            if (first >= args_.channels) return;
            float x[kCount] = {};
            args_.source.add(row(r), first, x);
            unrolled<kCount>([&](auto e) {
                const float value = first + e < args_.channels ? x[e] : 0.0f;
                r.x[kCount * piece + e] = value;
                r.sum += value;
            });
        });
    }

    constexpr void store(Lane& r) const {
        const float deviation = std::sqrt(r.sum / static_cast<float>(args_.channels) + args_.eps);
        const bool visible = !args_.visible || args_.visible[row(r)] != 0;
        unrolled<kPieces>([&](auto piece) {
            const int first = channel(r, kCount * piece);
            if (first >= args_.row) return;
            Piece<Scalar> made{};
            unrolled<kCount>([&](auto e) {
                const int c = first + e;
                if (visible && c < args_.channels)
                    made.x[e] =
                        from_float<Scalar>(r.x[kCount * piece + e] / deviation * args_.weight[c] + args_.bias[c]);
            });
            put_piece(args_.out + static_cast<long long>(row(r)) * args_.row + first, made);
        });
    }

    Block& block_;
    const NormRowsArguments<Scalar, Source>& args_;
    int row0_;
};

}  // namespace locus::cuda
