#pragma once
// Fused disentangled attention backwards without tensor cores: any head width, and float32 without rounding to fewer
// bits on the way.  Simple where fused_backward.h is fast.  Four kernels, none with atomics, so that every run gives
// the same bits:
//   1. delta = d_context . context of every query;
//   2. around queries: dQ, and the scores' gradients by query and table row;
//   3. around keys: dK, dV, and the scores' gradients by key and table row;
//   4. dK_r and dQ_r: products of these tables with queries and keys, summed over samples and tokens in order.
// Source: the chain rule, see core/attention/disentangled.h; delta from Dao et al. 2022, "FlashAttention",
// appendix B.2.
#include <cmath>

#include "cuda/fused/arguments.h"
#include "cuda/fused/half_types.h"
#include "cuda/fused/online_softmax.h"

namespace locus::cuda {

/// Four threads share an outer token; each has every fourth inner token of a tile and every fourth channel.
struct PortableBackwardLane : LaneBase {
    static constexpr int kTile = 16;

    RunningRow<false> falling;
    RunningRow<true> rising;
    float sum = 0;

    constexpr int token() const { return thread / 4; }
    constexpr int part() const { return thread % 4; }
};

/// 1. delta of 16 queries.
template <class Scalar, class Block>
class BackwardDelta {
public:
    using Lane = PortableBackwardLane;
    static constexpr int kTile = Lane::kTile, kThreads = 4 * kTile;

    static constexpr void run(Block& block, const BackwardArguments<Scalar>& args, int width, int query_block, int head,
                              int sample) {
        const Tokens tokens = args.forward.queries_of(sample);
        const Rows<const Scalar> context = {args.forward.context.data, args.forward.context.sample,
                                            args.forward.context.head, args.forward.context.row};
        const Scalar* o = ForwardArguments<Scalar>::at(context, tokens, sample, head);
        const Scalar* d_o = ForwardArguments<Scalar>::at(args.d_context, tokens, sample, head);
        const auto query = [&](const Lane& r) { return query_block * kTile + r.token(); };
        block.each([&](Lane& r) {
            r.sum = 0;
            const long long i = query(r);
            if (i >= tokens.count) return;
            for (int c = r.part(); c < width; c += 4)
                r.sum += to_float(o[i * context.row + c]) * to_float(d_o[i * args.d_context.row + c]);
        });
        block.quad_sum([](Lane& r) -> float& { return r.sum; });
        block.each([&](Lane& r) {
            if (query(r) < tokens.count && r.part() == 0)
                args.delta[BackwardSide<Scalar, false>{args}.place_of_query(sample, head, query(r))] = r.sum;
        });
    }
};

/// 2 and 3.
template <class Scalar, bool around_keys, class Block>
class PortableBackward {
public:
    using Lane = PortableBackwardLane;
    static constexpr int kTile = Lane::kTile, kThreads = 4 * kTile;

    /// Bytes of shared memory for so many channels.
    static constexpr int bytes(int width) {
        return static_cast<int>(sizeof(float)) * kTile * (6 * (width + 1) + 2 * (kTile + 1));
    }

    constexpr PortableBackward(Block& block, const BackwardArguments<Scalar>& args, int width, int outer_block,
                               int head, int sample)
        : block_(block),
          side_{args},
          width_(width),
          head_(head),
          sample_(sample),
          outer_(side_.outer(sample)),
          inner_(side_.inner(sample)),
          outer0_(outer_block * kTile) {}

    constexpr void run() {
        if (outer0_ >= outer_.count) return;
        load(kOuterTokens, side_.outer_tokens(), outer_, outer0_);
        load(kOuterValues, side_.outer_values(), outer_, outer0_);
        block_.each([&](Lane& r) {
            running(r).start(side_.args.columns);
            for (int c = r.part(); c < width_; c += 4) {
                block_.store(r, row(kOuterGradient, r.token()) + c, 0.0f);
                if (around_keys) block_.store(r, row(kValueGradient, r.token()) + c, 0.0f);
            }
        });
        for (int inner0 = 0; inner0 < inner_.count; inner0 += kTile) {
            load(kInnerTokens, side_.inner_tokens(), inner_, inner0);
            load(kInnerValues, side_.inner_values(), inner_, inner0);
            block_.sync();
            block_.each([&](Lane& r) { differentiate(r, inner0); });
            block_.sync();
            block_.each([&](Lane& r) {
                gather(r, inner0);
                if (side_.outer_rows() && r.part() == 0) sum_by_row(r, inner0);
            });
            block_.sync();
        }
        store();
    }

private:
    // Matrices in shared memory, each of kTile rows one longer than the width, for lanes that read neighbouring rows.
    enum Which { kOuterTokens, kOuterValues, kInnerTokens, kInnerValues, kOuterGradient, kValueGradient };
    constexpr float* row(Which matrix, int n) const {
        return block_.template shared<float>(0) + (matrix * kTile + n) * (width_ + 1);
    }
    constexpr float* probs() const { return row(kValueGradient, kTile); }
    constexpr float* grads() const { return probs() + kTile * (kTile + 1); }
    static constexpr int cell(int outer, int inner) { return outer * (kTile + 1) + inner; }

    static constexpr auto& running(Lane& r) {
        if constexpr (around_keys)
            return r.rising;
        else
            return r.falling;
    }

    constexpr void load(Which matrix, const Rows<const Scalar>& rows, const Tokens& tokens, int first) {
        const Scalar* from = ForwardArguments<Scalar>::at(rows, tokens, sample_, head_) + first * rows.row;
        block_.each([&](Lane& r) {
            for (int n = r.thread; n < kTile * width_; n += kThreads) {
                const int line = n / width_, c = n % width_;
                const bool exists = first + line < tokens.count;
                block_.store(r, row(matrix, line) + c, exists ? to_float(from[line * rows.row + c]) : 0.0f);
            }
        });
    }

    constexpr const Scalar* relative(const Scalar* table, int table_row) const {
        return table + (static_cast<long long>(head_) * side_.forward().table_rows + table_row) * width_;
    }
    constexpr float dot(const Lane& r, const float* a, const float* b) const {
        float sum = 0;
        for (int c = 0; c < width_; ++c) sum += block_.load(r, a + c) * block_.load(r, b + c);
        return sum;
    }
    constexpr float dot_relative(const Lane& r, const float* a, const Scalar* b) const {
        float sum = 0;
        for (int c = 0; c < width_; ++c) sum += block_.load(r, a + c) * to_float(b[c]);
        return sum;
    }

    /// A lane's pairs: the probability as dropout left it, and the score's gradient, both 0 where there is no pair.
    constexpr void differentiate(Lane& r, int inner0) const {
        for (int n = r.part(); n < kTile; n += 4) {
            const int outer = outer0_ + r.token(), inner = inner0 + n;
            const int i = side_.query(outer, inner), j = side_.key(outer, inner);
            float prob = 0, grad = 0;
            if (outer < outer_.count && inner < inner_.count && side_.is_visible(sample_, j)) {
                const long long place = side_.place_of_query(sample_, head_, i);
                // log_sum is +inf for queries without a key, and their probabilities are 0.
                const float share = std::exp2((score(r, n, inner) - side_.forward().log_sum[place]) * kLog2e);
                const float kept = side_.forward().dropout == 0 ? 1.0f : factor(i, j);
                const float d_prob = dot(r, row(kOuterValues, r.token()), row(kInnerValues, n)) * kept;
                prob = share * kept;
                grad = share * (d_prob - side_.args.delta[place]);
            }
            block_.store(r, probs() + cell(r.token(), n), prob);
            block_.store(r, grads() + cell(r.token(), n), grad);
        }
    }

    constexpr float score(const Lane& r, int n, int inner) const {
        const float *outer_token = row(kOuterTokens, r.token()), *inner_token = row(kInnerTokens, n);
        float sum = dot(r, outer_token, inner_token);
        const bool positions = side_.outer_rows() || side_.inner_rows();
        const int table_row = positions ? side_.row(outer0_ + r.token(), inner) : 0;
        if (side_.outer_rows()) sum += dot_relative(r, outer_token, relative(side_.outer_rows(), table_row));
        if (side_.inner_rows()) sum += dot_relative(r, inner_token, relative(side_.inner_rows(), table_row));
        return sum * side_.forward().scale;
    }

    constexpr float factor(int i, int j) const {
        const ForwardArguments<Scalar>& forward = side_.forward();
        return dropout_factor(dropout_key(forward.seed, static_cast<std::uint32_t>(sample_ * forward.heads + head_)),
                              forward.dropout, i, j);
    }

    constexpr int existing(int inner0) const { return smaller(kTile, inner_.count - inner0); }

    constexpr void gather(Lane& r, int inner0) const {
        const int outer = outer0_ + r.token();
        if (outer >= outer_.count) return;
        const Scalar* rows = side_.outer_rows();
        for (int c = r.part(); c < width_; c += 4) {
            float* at = row(kOuterGradient, r.token()) + c;
            float sum = block_.load(r, at);
            for (int n = 0; n < existing(inner0); ++n) {
                float factor = block_.load(r, row(kInnerTokens, n) + c);
                if (rows) factor += to_float(relative(rows, side_.row(outer, inner0 + n))[c]);
                sum += block_.load(r, grads() + cell(r.token(), n)) * factor;
            }
            block_.store(r, at, sum);
            if constexpr (around_keys) {
                float* value = row(kValueGradient, r.token()) + c;
                float of_value = block_.load(r, value);
                for (int n = 0; n < existing(inner0); ++n)
                    of_value += block_.load(r, probs() + cell(r.token(), n)) * block_.load(r, row(kInnerValues, n) + c);
                block_.store(r, value, of_value);
            }
        }
    }

    constexpr auto into_table(int outer) const {
        Scalar* to = ForwardArguments<Scalar>::at(side_.table(), outer_, sample_, head_) + outer * side_.table().row;
        return [to](int column, float sum) { to[column] = from_float<Scalar>(sum); };
    }

    constexpr void sum_by_row(Lane& r, int inner0) const {
        const int outer = outer0_ + r.token();
        if (outer >= outer_.count) return;
        for (int n = 0; n < existing(inner0); ++n)
            running(r).add(side_.row(outer, inner0 + n) - side_.args.reached.first,
                           block_.load(r, grads() + cell(r.token(), n)), side_.args.columns, into_table(outer));
    }

    constexpr void store() const {
        Scalar* to = ForwardArguments<Scalar>::at(side_.d_outer(), outer_, sample_, head_);
        Scalar* d_v = ForwardArguments<Scalar>::at(side_.args.d_v, outer_, sample_, head_);
        block_.each([&](Lane& r) {
            const long long outer = outer0_ + r.token();
            if (outer >= outer_.count) return;
            for (int c = r.part(); c < width_; c += 4) {
                const float gradient = block_.load(r, row(kOuterGradient, r.token()) + c) * side_.forward().scale;
                to[outer * side_.d_outer().row + c] = from_float<Scalar>(gradient);
                if (around_keys)
                    d_v[outer * side_.args.d_v.row + c] =
                        from_float<Scalar>(block_.load(r, row(kValueGradient, r.token()) + c));
            }
            if (side_.outer_rows() && r.part() == 0)
                running(r).finish(side_.args.columns, into_table(static_cast<int>(outer)));
        });
    }

    Block& block_;
    const BackwardSide<Scalar, around_keys> side_;
    int width_, head_, sample_;
    Tokens outer_, inner_;
    int outer0_;
};

/// 4. A thread has one number of dK_r or dQ_r.
template <class Scalar, bool around_keys, class Block>
class PortableTables {
public:
    using Lane = LaneBase;
    static constexpr int kThreads = 128;

    static constexpr void run(Block& block, const BackwardArguments<Scalar>& args, int width, int place_block,
                              int head) {
        const BackwardSide<Scalar, around_keys> side{args};
        block.each([&](Lane& r) {
            const int place = place_block * kThreads + r.thread, column = place / width, c = place % width;
            if (column >= args.reached.count) return;
            float sum = 0;
            for (int b = 0; b < args.forward.batch; ++b) {
                const Tokens tokens = side.outer(b);
                const Scalar* grads = ForwardArguments<Scalar>::at(side.table(), tokens, b, head) + column;
                const Scalar* factors = ForwardArguments<Scalar>::at(side.outer_tokens(), tokens, b, head) + c;
                for (int n = 0; n < tokens.count; ++n)
                    sum += to_float(grads[n * side.table().row]) * to_float(factors[n * side.outer_tokens().row]);
            }
            const long long row = static_cast<long long>(head) * args.forward.table_rows + args.reached.first + column;
            side.d_rows()[row * width + c] = sum * args.forward.scale;
        });
    }
};

}  // namespace locus::cuda
