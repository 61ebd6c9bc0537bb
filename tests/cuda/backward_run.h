#pragma once
// A whole backward pass on the host: its inputs and outputs, and the kernels that all of its paths share.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

#include "cuda/fused/portable_backward.h"
#include "cuda/fused/table_gradients.h"
#include "tests/cuda/backward_problem.h"
#include "tests/cuda/emulated_block.h"

namespace locus::test {

/// f(block, head, sample) for every one.
template <class F>
void for_each_block(int tokens, int tile, const auto& args, F f) {
    for (int b = 0; b < args.forward.batch; ++b)
        for (int h = 0; h < args.forward.heads; ++h)
            for (int n = 0; n * tile < tokens; ++n) f(n, h, b);
}

template <class Scalar>
void run_delta(const cuda::BackwardArguments<Scalar>& args, int width) {
    using Block = EmulatedBlock<cuda::PortableBackwardLane>;
    using Kernel = cuda::BackwardDelta<Scalar, Block>;
    for_each_block(args.forward.queries, Kernel::kTile, args, [&](int n, int h, int b) {
        Block block(Kernel::kThreads, 0);
        Kernel::run(block, args, width, n, h, b);
    });
}

/// The kernel that follows the one around queries or keys.
template <class Scalar, int width, bool around_keys>
void run_tables(const cuda::BackwardArguments<Scalar>& args) {
    const cuda::BackwardSide<Scalar, around_keys> side{args};
    if (!side.d_rows()) return;
    using TableBlock = EmulatedBlock<cuda::TableLane<width>>;
    using Tables = cuda::TableGradients<Scalar, width, around_keys, TableBlock>;
    for (int h = 0; h < args.forward.heads; ++h)
        for (int n = 0; n * Tables::kColumns < args.reached.count; ++n) {
            TableBlock block(Tables::kThreads, Tables::bytes());
            Tables(block, args, n, h).run();
        }
}

/// A whole backward pass on the host.
template <class Scalar>
class BackwardProblem {
public:
    static constexpr Index kHeads = 2;

    BackwardProblem(const BackwardCase& one, int width)
        : one_(one),
          width_(width),
          packed_(!one.lengths.empty()),
          batch_(packed_ ? static_cast<Index>(one.lengths.size()) : 2),
          buckets_(one.buckets(one.queries, one.keys)),
          rows_(buckets_.rows().begin(), buckets_.rows().end()) {
        starts_ = {0};
        for (const Index length : one.lengths) starts_.push_back(starts_.back() + static_cast<int>(length));
        for (Index b = 0; b < batch_; ++b)
            for (Index j = 0; j < one.keys; ++j) visible_.push_back(one.is_visible(b, j));
        fill_arguments();
        leave_behind();
    }

    cuda::BackwardArguments<Scalar>& args() { return args_; }

    bool same_bits(const BackwardProblem& other) const {
        const auto same = [](const auto& a, const auto& b, Index count) {
            return std::memcmp(a.data(), b.data(), size(count) * sizeof(*a.data())) == 0;
        };
        const Index queries = matrices() * query_rows_ * width_, keys = matrices() * key_rows_ * width_,
                    table = kHeads * 2 * one_.span * width_;
        return same(d_q_, other.d_q_, queries) && same(d_k_, other.d_k_, keys) && same(d_v_, other.d_v_, keys) &&
               same(d_k_r_, other.d_k_r_, table) && same(d_q_r_, other.d_q_r_, table);
    }

    /// The largest error of every gradient, in units of what is allowed.
    void check(bool rounds) {
        double worst[5] = {};
        for (Index h = 0; h < kHeads; ++h) {
            const Index table = 2 * one_.span;
            Bounded k_r{Matrix<double>::Zero(table, width_), Matrix<double>::Zero(table, width_)}, q_r = k_r;
            for (Index b = 0; b < batch_; ++b) {
                if (queries_of(b) == 0) continue;
                const HeadExpected expected = expect_gradients<Scalar>(head(b, h), rounds, false);
                const auto part = [&](Guarded<Scalar>& all, Index first, Index count) {
                    Matrix<double> found(count, width_);
                    for (Index n = 0; n < found.size(); ++n)
                        found.data()[n] = cuda::to_float(all.data()[first * width_ + n]);
                    return found;
                };
                const auto note = [&](int which, const Matrix<double>& found, const Bounded& of) {
                    worst[which] = std::max(worst[which], worst_error(found, of));
                };
                note(0, part(d_q_, first_query(b, h), queries_of(b)), expected.q);
                note(1, part(d_k_, first_key(b, h), keys_of(b)), expected.k);
                note(2, part(d_v_, first_key(b, h), keys_of(b)), expected.v);
                k_r.add(expected.k_r);
                q_r.add(expected.q_r);
            }
            if (one_.c2p) worst[3] = std::max(worst[3], worst_error(relative(d_k_r_, h), k_r));
            if (one_.p2c) worst[4] = std::max(worst[4], worst_error(relative(d_q_r_, h), q_r));
            for (Index row = 0; row < table; ++row)
                if (std::find(rows_.begin(), rows_.end(), row) == rows_.end())
                    CHECK((relative(d_k_r_, h).row(row).isZero(0) && relative(d_q_r_, h).row(row).isZero(0)));
        }
        const char* const names[] = {"dQ", "dK", "dV", "dK_r", "dQ_r"};
        for (int n = 0; n < 5; ++n) {
            INFO(one_.text() << ", d " << width_ << ": " << names[n]);
            CHECK(worst[n] <= 1);
        }
        INFO(one_.text());
        CHECK((d_q_.guards_hold() && d_k_.guards_hold() && d_v_.guards_hold()));
        CHECK((d_k_r_.guards_hold() && d_q_r_.guards_hold() && delta_.guards_hold()));
        CHECK((by_query_.guards_hold() && by_key_.guards_hold()));
    }

private:
    Index queries_of(Index b) const { return packed_ ? one_.lengths[static_cast<std::size_t>(b)] : one_.queries; }
    Index keys_of(Index b) const { return packed_ ? queries_of(b) : one_.keys; }
    Index first_query(Index b, Index h) const { return first(b, h, query_rows_); }
    Index first_key(Index b, Index h) const { return first(b, h, key_rows_); }
    Index first(Index b, Index h, Index rows) const {
        return packed_ ? h * rows + starts_[static_cast<std::size_t>(b)] : (b * kHeads + h) * rows;
    }
    Index matrices() const { return packed_ ? kHeads : batch_ * kHeads; }
    static std::size_t size(Index n) { return static_cast<std::size_t>(n); }

    template <class Any>
    cuda::Rows<Any> strided(Any* data, Index tokens) const {
        return strided(data, tokens, width_);
    }
    template <class Any>
    cuda::Rows<Any> strided(Any* data, Index tokens, Index row) const {
        return {data, packed_ ? 0 : kHeads * tokens * row, tokens * row, row};
    }

    void fill_arguments() {
        auto& forward = args_.forward;
        forward.q = strided<const Scalar>(q_.narrow.data(), query_rows_);
        forward.k = strided<const Scalar>(k_.narrow.data(), key_rows_);
        forward.v = strided<const Scalar>(v_.narrow.data(), key_rows_);
        forward.context = strided(context_.data(), query_rows_);
        forward.log_sum = log_sum_.data();
        if (one_.c2p) forward.k_r = k_r_.narrow.data();
        if (one_.p2c) forward.q_r = q_r_.narrow.data();
        forward.buckets = cuda::bucket_rows(rows_, rows_.data(), static_cast<int>(one_.keys) - 1);
        forward.table_rows = static_cast<int>(2 * one_.span);
        if (one_.hides) forward.visible_keys = visible_.data();
        if (packed_) {
            forward.first_query = forward.first_key = starts_.data();
            forward.all_queries = forward.all_keys = starts_.back();
        }
        forward.batch = static_cast<int>(batch_);
        forward.heads = kHeads;
        forward.queries = static_cast<int>(one_.queries);
        forward.keys = static_cast<int>(one_.keys);
        forward.scale = static_cast<float>(1 / score_divisor<double>(1 + one_.c2p + one_.p2c, width_));
        forward.dropout = one_.dropout;
        forward.seed = 0x123456789abcdefULL;
        args_.d_context = strided<const Scalar>(d_context_.narrow.data(), query_rows_);
        args_.d_q = strided(d_q_.data(), query_rows_);
        args_.d_k = strided(d_k_.data(), key_rows_);
        args_.d_v = strided(d_v_.data(), key_rows_);
        args_.delta = delta_.data();
        args_.reached = forward.buckets.reached_by({1 - forward.keys, forward.queries - 1});
        args_.columns = columns();
        std::fill(d_k_r_.data(), d_k_r_.data() + kHeads * 2 * one_.span * width_, 0.0f);
        std::fill(d_q_r_.data(), d_q_r_.data() + kHeads * 2 * one_.span * width_, 0.0f);
        if (one_.c2p) args_.d_k_r = d_k_r_.data();
        if (one_.p2c) args_.d_q_r = d_q_r_.data();
        args_.by_query = strided(by_query_.data(), query_rows_, columns());
        args_.by_key = strided(by_key_.data(), key_rows_, columns());
    }
    int columns() const { return cuda::BackwardArguments<Scalar>::columns_of({0, rows_.back() - rows_.front() + 1}); }

    /// Results of the forward pass: the context, rounded, and the logarithms of the sums.
    void leave_behind() {
        for (Index b = 0; b < batch_; ++b)
            for (Index h = 0; h < kHeads; ++h) {
                const HeadProblem one = head(b, h);
                Scalar* context = context_.data() + first_query(b, h) * width_;
                for (Index n = 0; n < one.context.size(); ++n)
                    context[n] = cuda::from_float<Scalar>(static_cast<float>(one.context.data()[n]));
                for (Index i = 0; i < queries_of(b); ++i)
                    log_sum_.data()[(b * kHeads + h) * one_.queries + i] = static_cast<float>(one.log_sum(i));
            }
    }

    Matrix<double> rows(const Rounded<Scalar>& all, Index first, Index count) const {
        return all.wide.middleRows(first, count);
    }
    Matrix<double> relative(Guarded<float>& all, Index h) const {
        Matrix<double> found(2 * one_.span, width_);
        for (Index n = 0; n < found.size(); ++n) found.data()[n] = all.data()[h * found.size() + n];
        return found;
    }

    HeadProblem head(Index b, Index h) const {
        const Index tq = queries_of(b), tk = keys_of(b), table = 2 * one_.span;
        HeadProblem one{{rows(q_, first_query(b, h), tq),
                         rows(k_, first_key(b, h), tk),
                         rows(v_, first_key(b, h), tk),
                         {},
                         {},
                         {},
                         {},
                         1 / static_cast<double>(args_.forward.scale)},
                        rows(d_context_, first_query(b, h), tq),
                        {},
                        {},
                        {},
                        one_.buckets(std::max<Index>(tq, 1), std::max<Index>(tk, 1)),
                        args_.forward.scale};
        if (one_.c2p) one.head.k_r = rows(k_r_, h * table, table);
        if (one_.p2c) one.head.q_r = rows(q_r_, h * table, table);
        complete(one, one_, b, dropout_key(args_.forward.seed, static_cast<std::uint32_t>(b * kHeads + h)));
        return one;
    }

    const BackwardCase one_;
    const Index width_;
    const bool packed_;
    const Index batch_;
    const RelativeBuckets buckets_;
    const std::vector<std::uint16_t> rows_;
    std::vector<int> starts_;
    std::vector<std::uint8_t> visible_;
    const Index query_rows_ = packed_ ? total() : one_.queries, key_rows_ = packed_ ? total() : one_.keys;
    Index total() const {
        Index sum = 0;
        for (const Index length : one_.lengths) sum += length;
        return sum;
    }
    std::mt19937 random_{17};
    const Rounded<Scalar> q_{matrices() * query_rows_, width_, 1, random_},
        k_{matrices() * key_rows_, width_, 1, random_}, v_{matrices() * key_rows_, width_, 1, random_},
        k_r_{kHeads * 2 * one_.span, width_, 1, random_}, q_r_{kHeads * 2 * one_.span, width_, 1, random_},
        d_context_{matrices() * query_rows_, width_, 1, random_};
    Guarded<Scalar> context_{size(matrices() * query_rows_ * width_)}, d_q_{size(matrices() * query_rows_ * width_)},
        d_k_{size(matrices() * key_rows_ * width_)}, d_v_{size(matrices() * key_rows_ * width_)},
        by_query_{size(matrices() * query_rows_ * columns())}, by_key_{size(matrices() * key_rows_ * columns())};
    Guarded<float> log_sum_{size(batch_ * kHeads * one_.queries)}, delta_{size(batch_ * kHeads * one_.queries)},
        d_k_r_{size(kHeads * 2 * one_.span * width_)}, d_q_r_{size(kHeads * 2 * one_.span * width_)};
    cuda::BackwardArguments<Scalar> args_;
};

}  // namespace locus::test
