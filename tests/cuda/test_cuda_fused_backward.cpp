// The fused backward kernels: their very text, run lane after lane on the host, against the reference in float64.
#include <catch2/catch.hpp>

#include "cuda/fused/fused_backward.h"
#include "cuda/fused/portable_backward.h"
#include "cuda/fused/table_gradients.h"
#include "tests/cuda/backward_problem.h"
#include "tests/cuda/emulated_block.h"

namespace locus::test::test_cuda_fused_backward {

using cuda::Bfloat16;
using cuda::Half;

namespace {

constexpr Index kHeads = 2;

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

template <class Scalar, bool around_keys>
void run_portable_side(const cuda::BackwardArguments<Scalar>& args, int width) {
    using Block = EmulatedBlock<cuda::PortableBackwardLane>;
    using Kernel = cuda::PortableBackward<Scalar, around_keys, Block>;
    for_each_block(around_keys ? args.forward.keys : args.forward.queries, Kernel::kTile, args,
                   [&](int n, int h, int b) {
                       Block block(Kernel::kThreads, Kernel::bytes(width));
                       Kernel(block, args, width, n, h, b).run();
                   });
}

template <class Scalar, bool around_keys>
void run_portable_tables(const cuda::BackwardArguments<Scalar>& args, int width) {
    using Block = EmulatedBlock<cuda::LaneBase>;
    using Kernel = cuda::PortableTables<Scalar, around_keys, Block>;
    for (int h = 0; h < args.forward.heads; ++h)
        for (int n = 0; n * Kernel::kThreads < args.reached.count * width; ++n) {
            Block block(Kernel::kThreads, 0);
            Kernel::run(block, args, width, n, h);
        }
}

template <class Scalar>
void run_portable(const cuda::BackwardArguments<Scalar>& args, int width) {
    run_delta(args, width);
    run_portable_side<Scalar, false>(args, width);
    run_portable_side<Scalar, true>(args, width);
    if (args.forward.k_r) run_portable_tables<Scalar, false>(args, width);
    if (args.forward.q_r) run_portable_tables<Scalar, true>(args, width);
}

template <class Scalar, int width, int tile_outer, int tile_inner, bool around_keys>
void run_side(const cuda::BackwardArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::BackwardLane<width, tile_inner, around_keys>>;
    using Kernel = cuda::FusedBackward<Scalar, width, tile_outer, tile_inner, around_keys, Block>;
    const cuda::BackwardSide<Scalar, around_keys> side{args};
    const int outer = around_keys ? args.forward.keys : args.forward.queries,
              inner = around_keys ? args.forward.queries : args.forward.keys,
              capacity = std::min(args.forward.table_rows, tile_outer + inner - 1),
              bytes = cuda::BackwardLayout::of(tile_outer, tile_inner, width, capacity, around_keys,
                                               side.outer_rows() != nullptr, side.inner_rows() != nullptr)
                          .bytes;
    for_each_block(outer, tile_outer, args, [&](int n, int h, int b) {
        Block block(Kernel::kThreads, bytes);
        Kernel(block, args, capacity, n, h, b).run();
    });
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
class Problem {
public:
    Problem(const BackwardCase& one, int width)
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
        forward.line = cuda::line_of(rows_, rows_.data(), static_cast<int>(one_.keys) - 1);
        forward.table_rows = static_cast<int>(2 * one_.span);
        if (one_.hides) forward.visible_keys = visible_.data();
        if (packed_) forward.first_query = forward.first_key = starts_.data();
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
        args_.reached = forward.line.reached_by({1 - forward.keys, forward.queries - 1});
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

template <class Scalar>
void check_portable(const BackwardCase& one, int width) {
    Problem<Scalar> problem(one, width);
    run_portable(problem.args(), width);
    problem.check(false);
}

template <class Scalar, int width, int tile_outer, int tile_inner>
void check_case(const BackwardCase& one) {
    Problem<Scalar> problem(one, width);
    REQUIRE(cuda::suits_tensor_cores(problem.args()));
    run_delta(problem.args(), width);
    run_side<Scalar, width, tile_outer, tile_inner, false>(problem.args());
    run_side<Scalar, width, tile_outer, tile_inner, true>(problem.args());
    problem.check(true);
}

}  // namespace

TEMPLATE_TEST_CASE("emulation: the portable backward kernels are disentangled attention's gradients",
                   "[emulation][fused][backward]", float, Half) {
    for (const Index length : {1, 7, 31, 33, 65, 129})
        for (const bool logarithmic : {false, true}) check_portable<TestType>({length, length, 16, logarithmic}, 16);
    check_portable<TestType>({70, 33, 5}, 8);
    check_portable<TestType>({33, 70, 100, false, true, true, true, 0.5f}, 40);
    check_portable<TestType>({40, 65, 8, true, false, true}, 24);
    check_portable<TestType>({40, 65, 8, true, true, false}, 24);
    check_portable<TestType>({40, 65, 8, true, false, false}, 24);
    check_portable<TestType>({65, 65, 8, true, true, true, false, 0.25f, {5, 0, 65, 33, 1}}, 16);
    BackwardCase skips{70, 65, 32, true};
    skips.max_position = skips.span;
    check_portable<TestType>(skips, 16);
}

TEST_CASE("emulation: the fused backward kernels are disentangled attention's gradients",
          "[emulation][fused][backward]") {
    for (const Index length : {1, 7, 31, 33, 65, 129})
        for (const bool logarithmic : {false, true}) check_case<Half, 64, 64, 64>({length, length, 16, logarithmic});
    for (const Index length : {33, 65}) check_case<Bfloat16, 64, 64, 64>({length, length, 16, true});
}

TEST_CASE("emulation: fused backward with other tiles and numbers of queries and keys",
          "[emulation][fused][backward]") {
    check_case<Half, 64, 64, 64>({130, 70, 8});
    check_case<Half, 64, 32, 32>({33, 129, 100, true});
    check_case<Half, 64, 64, 64>({70, 130, 100});
    check_case<Half, 64, 32, 32>({65, 31, 512});
    check_case<Half, 64, 32, 32>({1, 129, 4});
    check_case<Bfloat16, 64, 64, 64>({200, 1, 4});
    check_case<Half, 64, 64, 64>({130, 70, 1});         // tiles of two rows
    check_case<Half, 64, 64, 64>({300, 300, 4, true});  // tiles of one row at both ends of the line
}

TEST_CASE("emulation: fused backward without a term, with hidden keys, with dropout, packed",
          "[emulation][fused][backward]") {
    check_case<Half, 64, 64, 64>({100, 70, 16, true, false, true});
    check_case<Half, 64, 64, 64>({100, 70, 16, true, true, false});
    check_case<Half, 64, 64, 64>({100, 70, 16, true, false, false});
    check_case<Half, 64, 64, 64>({65, 129, 16, true, true, true, true});
    check_case<Half, 64, 64, 64>({65, 40, 16, true, true, true, true});
    check_case<Bfloat16, 64, 64, 64>({65, 90, 16, false, true, true, true, 0.25f});
    check_case<Half, 64, 64, 64>({65, 65, 8, true, true, true, false, 0.25f, {5, 0, 65, 33, 1}});
}

TEST_CASE("emulation: the backward kernels' tiles fit into shared memory for DeBERTa's tables",
          "[emulation][fused][backward]") {
    constexpr int kSm80 = 163 * 1024, kSm90 = 227 * 1024;  // the most that one block can have
    for (const bool around_keys : {false, true}) {
        const auto bytes = [&](int outer, int inner, int width, int rows) {
            return cuda::BackwardLayout::of(outer, inner, width, rows, around_keys, true, true).bytes;
        };
        CHECK(bytes(64, 64, 64, 512) <= kSm80);   // version 3
        CHECK(bytes(64, 64, 64, 1024) <= kSm90);  // version 1
        CHECK(bytes(32, 32, 64, 1024) <= kSm80);
        for (const int width : {32, 64})
            for (const int tile : {32, 64}) {
                const auto at = cuda::BackwardLayout::of(tile, tile, width, 512, around_keys, true, true);
                for (const int place : {at.outer_values, at.inner_tokens, at.inner_values, at.window, at.outer_table,
                                        at.inner_table, at.places, at.log_sums, at.deltas, at.visible})
                    CHECK(place % 16 == 0);
            }
    }
}

}  // namespace locus::test::test_cuda_fused_backward
