#pragma once
// Fused disentangled attention without tensor cores: any head width, float32 without rounding to fewer bits, and every
// position score by its own dot product.  Simple where fused_forward.h is fast; the same online softmax.
#include <cmath>

#include "cuda/fused/arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/online_softmax.h"

namespace locus::cuda {

/// Four threads share a query; each has every fourth key of a tile and every fourth channel.
struct PortableLane : LaneBase {
    static constexpr int kTile = 32;  // queries of a block, keys of a tile

    float scores[kTile / 4] = {};
    float largest = kNothing, tile_largest = 0, sum = 0;

    constexpr int query() const { return thread / 4; }
    constexpr int part() const { return thread % 4; }
};

template <class Scalar, class Block>
class PortableForward {
public:
    using Lane = PortableLane;
    static constexpr int kTile = Lane::kTile, kThreads = 4 * kTile;

    /// Bytes of shared memory for so many channels.
    static constexpr int bytes(int width) {
        return static_cast<int>(sizeof(float)) * kTile * (4 * (width + 1) + kTile + 1);
    }

    constexpr PortableForward(Block& block, const ForwardArguments<Scalar>& args, int width, int query_block, int head,
                              int sample)
        : block_(block),
          args_(args),
          width_(width),
          head_(head),
          sample_(sample),
          query_tokens_(args.queries_of(sample)),
          key_tokens_(args.keys_of(sample)),
          i0_(query_block * kTile) {}

    constexpr void run() {
        if (i0_ >= query_tokens_.count) return;
        load(queries(), args_.q, query_tokens_, i0_);
        block_.each([&](Lane& r) {
            for (int c = r.part(); c < width_; c += 4) block_.store(r, row(context(), r.query()) + c, 0.0f);
        });
        for (int j0 = 0; j0 < key_tokens_.count; j0 += kTile) {
            load(keys(), args_.k, key_tokens_, j0);
            load(values(), args_.v, key_tokens_, j0);
            block_.sync();
            block_.each([&](Lane& r) { score(r, j0); });
            online_softmax_step(j0);
            block_.sync();
            block_.each([&](Lane& r) { gather(r); });
            block_.sync();
        }
        store();
    }

private:
    // Five matrices: rows one longer than the width, so that lanes with neighbouring rows read different banks.
    constexpr float* queries() const { return block_.template shared<float>(0); }
    constexpr float* keys() const { return queries() + kTile * (width_ + 1); }
    constexpr float* values() const { return keys() + kTile * (width_ + 1); }
    constexpr float* context() const { return values() + kTile * (width_ + 1); }
    constexpr float* shares() const { return context() + kTile * (width_ + 1); }
    constexpr float* row(float* matrix, int n) const { return matrix + n * (width_ + 1); }

    constexpr void load(float* to, const Rows<const Scalar>& rows, const Tokens& tokens, int first) {
        const Scalar* from = ForwardArguments<Scalar>::at(rows, tokens, sample_, head_) + first * rows.row;
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < kTile * width_; n += kThreads) {
                const int line = n / width_, c = n % width_;
                const bool exists = first + line < tokens.count;
                block_.store(r, row(to, line) + c, exists ? to_float(from[line * rows.row + c]) : 0.0f);
            }
        });
    }

    constexpr float dot(const Lane& r, const float* a, const float* b) const {
        float sum = 0;
        for (int c = 0; c < width_; ++c) sum += block_.load(r, a + c) * block_.load(r, b + c);
        return sum;
    }
    constexpr float dot_with_table(const Lane& r, const float* a, const Scalar* table, int table_row) const {
        const Scalar* b = table + (static_cast<long long>(head_) * args_.table_rows + table_row) * width_;
        float sum = 0;
        for (int c = 0; c < width_; ++c) sum += block_.load(r, a + c) * to_float(b[c]);
        return sum;
    }

    constexpr bool is_visible(int j) const {
        return j < key_tokens_.count &&
               (!args_.visible_keys || args_.visible_keys[static_cast<long long>(sample_) * args_.keys + j] != 0);
    }

    constexpr void score(Lane& r, int j0) const {
        const int i = i0_ + r.query();
        for (int n = 0; n < kTile / 4; ++n) {
            const int at = 4 * n + r.part(), j = j0 + at;
            r.scores[n] = kNothing;
            if (i >= query_tokens_.count || !is_visible(j)) continue;
            const float *query = row(queries(), r.query()), *key = row(keys(), at);
            float sum = dot(r, query, key);
            const int table_row = args_.k_r || args_.q_r ? args_.buckets.row(i - j) : 0;
            if (args_.k_r) sum += dot_with_table(r, query, args_.k_r, table_row);
            if (args_.q_r) sum += dot_with_table(r, key, args_.q_r, table_row);
            r.scores[n] = sum * (args_.scale * kLog2e);
        }
    }

    constexpr void online_softmax_step(int j0) {
        block_.each([](Lane& r) {
            r.tile_largest = r.largest;
            for (const float score : r.scores)
                if (score > r.tile_largest) r.tile_largest = score;
        });
        block_.quad_largest([](Lane& r) -> float& { return r.tile_largest; });
        block_.each([&](Lane& r) {
            const float base = r.tile_largest == kNothing ? 0.0f : r.tile_largest;
            const float shrink = std::exp2(r.largest - base);
            r.largest = r.tile_largest;
            r.sum *= shrink;
            for (int c = r.part(); c < width_; c += 4) {
                float* at = row(context(), r.query()) + c;
                block_.store(r, at, block_.load(r, at) * shrink);
            }
            for (int n = 0; n < kTile / 4; ++n) {
                const float share = std::exp2(r.scores[n] - base);
                r.sum += share;
                block_.store(r, shares() + r.query() * (kTile + 1) + 4 * n + r.part(),
                             share * kept(i0_ + r.query(), j0 + 4 * n + r.part()));
            }
        });
    }

    /// What dropout makes of a probability: 0, or 1 / (1 - share).
    constexpr float kept(int i, int j) const {
        if (args_.dropout == 0) return 1;
        return dropout_factor(dropout_key(args_.seed, static_cast<std::uint32_t>(sample_ * args_.heads + head_)),
                              args_.dropout, i, j);
    }

    constexpr void gather(Lane& r) const {
        for (int c = r.part(); c < width_; c += 4) {
            float* at = row(context(), r.query()) + c;
            float sum = block_.load(r, at);
            for (int j = 0; j < kTile; ++j)
                sum += block_.load(r, shares() + r.query() * (kTile + 1) + j) * block_.load(r, row(values(), j) + c);
            block_.store(r, at, sum);
        }
    }

    constexpr void store() {
        block_.quad_sum([](Lane& r) -> float& { return r.sum; });
        Scalar* to = ForwardArguments<Scalar>::at(args_.context, query_tokens_, sample_, head_);
        block_.each([&](Lane& r) {
            const int i = i0_ + r.query();
            if (i >= query_tokens_.count) return;
            const float share = r.sum == 0 ? 0.0f : 1 / r.sum;  // no visible key at all: zeros
            for (int c = r.part(); c < width_; c += 4)
                to[i * args_.context.row + c] =
                    from_float<Scalar>(block_.load(r, row(context(), r.query()) + c) * share);
            if (args_.log_sum && r.part() == 0)
                args_.log_sum[(static_cast<long long>(sample_) * args_.heads + head_) * args_.queries + i] =
                    r.sum == 0 ? -kNothing : (r.largest + std::log2(r.sum)) * kLn2;
        });
    }

    Block& block_;
    const ForwardArguments<Scalar>& args_;
    int width_, head_, sample_;
    Tokens query_tokens_, key_tokens_;
    int i0_;
};

}  // namespace locus::cuda
