// The fused forward kernel: its very text, run lane after lane on the host, against the reference in float64.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/attention/disentangled.h"
#include "cuda/fused_forward.h"
#include "cuda/portable_forward.h"
#include "tests/cuda/emulated_block.h"
#include "tests/cuda/guarded.h"

using namespace locus;
using namespace locus::test;
using cuda::Bfloat16;
using cuda::Half;

namespace {

struct Case {
    Index queries, keys, span;
    bool logarithmic = false, c2p = true, p2c = true, hides = false;
    float dropout = 0;
};

BucketLine line_of(const Case& one) {
    return one.logarithmic
               ? BucketLine::logarithmic(one.queries, one.keys, one.span, 4 * one.span, OffsetClamp::official)
               : BucketLine::clamped(one.queries, one.keys, one.span);
}

constexpr Index kBatch = 2, kHeads = 3;

bool is_visible(const Case& one, Index sample, Index j) {
    if (!one.hides) return true;
    return sample == 0 ? j % 7 != 3 : false;  // the second sample sees nothing at all
}

/// Every block of the kernel, one after the other.
template <class Scalar, int width, int tile_queries, int tile_keys>
void run_tensor_cores(const cuda::ForwardArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::ForwardLane<width, tile_keys>>;
    using Kernel = cuda::FusedForward<Scalar, width, tile_queries, tile_keys, Block>;
    const int capacity = std::min(args.table_rows, tile_queries + args.keys - 1);
    const int bytes = cuda::ForwardLayout::of(tile_queries, tile_keys, width, capacity, args.k_r, args.q_r).bytes;
    for (int b = 0; b < args.batch; ++b)
        for (int h = 0; h < args.heads; ++h)
            for (int n = 0; n * tile_queries < args.queries; ++n) {
                Block block(Kernel::kThreads, bytes);
                Kernel(block, args, capacity, n, h, b).run();
            }
}

template <class Scalar>
void run_portable(const cuda::ForwardArguments<Scalar>& args, int width) {
    using Block = EmulatedBlock<cuda::PortableLane>;
    using Kernel = cuda::PortableForward<Scalar, Block>;
    for (int b = 0; b < args.batch; ++b)
        for (int h = 0; h < args.heads; ++h)
            for (int n = 0; n * Kernel::kTile < args.queries; ++n) {
                Block block(Kernel::kThreads, Kernel::bytes(width));
                Kernel(block, args, width, n, h, b).run();
            }
}

/// halves: the kernel keeps position scores as such.
template <class Scalar, int width, class Run>
void check_kernel(const Case& one, bool halves, Run run) {
    INFO("T " << one.queries << " x " << one.keys << ", k " << one.span << (one.logarithmic ? ", log" : "") << ", d "
              << width << (one.hides ? ", hidden keys" : "") << (one.dropout > 0 ? ", dropout" : "")
              << (one.c2p ? "" : ", no c2p") << (one.p2c ? "" : ", no p2c"));
    std::mt19937 random(17);
    const BucketLine buckets = line_of(one);
    const std::vector<std::uint16_t> rows(buckets.rows().begin(), buckets.rows().end());
    const Index sheets = kBatch * kHeads, table = 2 * one.span;
    const Rounded<Scalar> q(sheets * one.queries, width, 1, random), k(sheets * one.keys, width, 1, random),
        v(sheets * one.keys, width, 1, random), k_r(kHeads * table, width, 1, random),
        q_r(kHeads * table, width, 1, random);
    Guarded<Scalar> context(static_cast<std::size_t>(sheets * one.queries * width));
    Guarded<float> log_sum(static_cast<std::size_t>(sheets * one.queries));
    std::vector<std::uint8_t> visible;
    for (Index b = 0; b < kBatch; ++b)
        for (Index j = 0; j < one.keys; ++j) visible.push_back(is_visible(one, b, j));

    cuda::ForwardArguments<Scalar> args;
    const auto sheet = [](const Scalar* data, Index tokens) {
        return cuda::Rows<const Scalar>{data, kHeads * tokens * width, tokens * width, width};
    };
    args.q = sheet(q.narrow.data(), one.queries);
    args.k = sheet(k.narrow.data(), one.keys);
    args.v = sheet(v.narrow.data(), one.keys);
    args.context = {context.data(), kHeads * one.queries * width, one.queries * width, width};
    args.log_sum = log_sum.data();
    if (one.c2p) args.k_r = k_r.narrow.data();
    if (one.p2c) args.q_r = q_r.narrow.data();
    args.line = {rows.data(), static_cast<int>(one.keys) - 1};
    args.table_rows = static_cast<int>(table);
    if (one.hides) args.visible_keys = visible.data();
    args.batch = kBatch;
    args.heads = kHeads;
    args.queries = static_cast<int>(one.queries);
    args.keys = static_cast<int>(one.keys);
    args.scale = static_cast<float>(1 / score_divisor<double>(1 + one.c2p + one.p2c, width));
    args.dropout = one.dropout;
    args.seed = 0x123456789abcdefULL;

    run(args);

    double worst = 0, worst_log = 0;
    for (Index at = 0; at < sheets; ++at) {
        const Index b = at / kHeads, h = at % kHeads;
        const Matrix<double> query = q.wide.middleRows(at * one.queries, one.queries),
                             key = k.wide.middleRows(at * one.keys, one.keys);
        Matrix<double> scores = content_to_content<double>(query, key);
        double rounded = 0;  // the largest score of those that the kernel keeps as halves
        if (one.c2p) {
            const Matrix<double> term =
                content_to_position<double>(query, k_r.wide.middleRows(h * table, table), buckets);
            rounded += term.cwiseAbs().maxCoeff();
            scores += term;
        }
        if (one.p2c) {
            const Matrix<double> term =
                position_to_content<double>(key, q_r.wide.middleRows(h * table, table), buckets);
            rounded += term.cwiseAbs().maxCoeff();
            scores += term;
        }
        scores *= args.scale;
        Mask mask = Mask::Ones(one.queries, one.keys);
        for (Index j = 0; j < one.keys; ++j) mask.col(j).setConstant(is_visible(one, b, j));
        Matrix<double> probs = masked_softmax<double>(scores, mask);
        const std::uint32_t number = cuda::dropout_key(args.seed, static_cast<int>(at));
        if (one.dropout > 0)
            for (Index i = 0; i < one.queries; ++i)
                for (Index j = 0; j < one.keys; ++j) {
                    const auto two = cuda::dropout_numbers(number, static_cast<int>(i), static_cast<int>(j / 2 * 2));
                    const bool dropped = (j % 2 ? two.second : two.first) < cuda::dropout_threshold(one.dropout);
                    probs(i, j) *= dropped ? 0 : 1 / (1 - one.dropout);
                }
        const Matrix<double> expected = probs * v.wide.middleRows(at * one.keys, one.keys);
        // Scores carry the halves' error, probabilities and context one rounding each, sums those of float32.
        const double of_scores =
            (halves ? 0x1p-11 * rounded * args.scale : 0) + 64 * width * 0x1p-24 * scores.cwiseAbs().maxCoeff();
        const double largest = v.wide.cwiseAbs().maxCoeff() / (1 - one.dropout);
        const double allowed = largest * (2 * kRoundoff<Scalar> + 2 * of_scores + 0x1p-24 * one.keys);
        for (Index i = 0; i < one.queries; ++i) {
            for (Index c = 0; c < width; ++c) {
                const double found = cuda::to_float(context.data()[(at * one.queries + i) * width + c]);
                const double error = std::abs(found - expected(i, c)) / allowed;
                if (!(error <= worst)) worst = error;
            }
            const double found = log_sum.data()[at * one.queries + i];
            if (one.hides && b == 1) {
                if (found != std::numeric_limits<double>::infinity()) worst_log = 1e9;
                continue;
            }
            double sum = 0;
            for (Index j = 0; j < one.keys; ++j)
                if (mask(i, j)) sum += std::exp(scores(i, j));
            const double error = std::abs(found - std::log(sum)) / (of_scores + 1e-5);
            if (!(error <= worst_log)) worst_log = error;
        }
    }
    CHECK(worst <= 1);
    CHECK(worst_log <= 1);
    CHECK(context.guards_hold());
    CHECK(log_sum.guards_hold());
}

template <class Scalar, int width, int tile_queries, int tile_keys>
void check_case(const Case& one) {
    check_kernel<Scalar, width>(one, true, run_tensor_cores<Scalar, width, tile_queries, tile_keys>);
}

template <class Scalar, int width>
void check_portable(const Case& one) {
    check_kernel<Scalar, width>(one, false, [](const auto& args) { run_portable<Scalar>(args, width); });
}

}  // namespace

TEMPLATE_TEST_CASE("emulation: the fused forward kernel is disentangled attention", "[emulation][fused]", Half,
                   Bfloat16) {
    for (const Index length : {1, 7, 31, 33, 63, 65, 127, 129, 300})
        for (const bool logarithmic : {false, true})
            check_case<TestType, 64, 64, 64>({length, length, 16, logarithmic});
}

TEST_CASE("emulation: fused forward with other tiles, widths and numbers of queries and keys", "[emulation][fused]") {
    check_case<Half, 32, 64, 64>({130, 130, 8});
    check_case<Half, 128, 64, 64>({70, 200, 100});
    check_case<Bfloat16, 64, 128, 64>({200, 77, 32, true});
    check_case<Half, 64, 128, 64>({129, 300, 512});
    check_case<Half, 64, 32, 32>({1, 129, 4});
    check_case<Half, 64, 64, 64>({300, 1, 4});
}

TEST_CASE("emulation: fused forward without a term, with hidden keys, with dropout", "[emulation][fused]") {
    check_case<Half, 64, 64, 64>({100, 100, 16, true, false, true});
    check_case<Half, 64, 64, 64>({100, 100, 16, true, true, false});
    check_case<Half, 64, 64, 64>({100, 100, 16, true, false, false});
    check_case<Half, 64, 64, 64>({150, 150, 16, true, true, true, true});
    check_case<Bfloat16, 64, 64, 64>({150, 90, 16, false, true, true, true});
    check_case<Half, 64, 64, 64>({100, 130, 16, true, true, true, true, 0.25f});
}

TEMPLATE_TEST_CASE("emulation: the portable forward kernel is disentangled attention at any width",
                   "[emulation][fused]", float, Half, Bfloat16) {
    for (const Index length : {1, 31, 33, 70})
        for (const bool logarithmic : {false, true}) check_portable<TestType, 24>({length, length, 16, logarithmic});
    check_portable<TestType, 8>({70, 33, 5});
    check_portable<TestType, 40>({33, 70, 100, false, true, true, true, 0.5f});
    check_portable<TestType, 16>({40, 40, 8, true, false, true});
    check_portable<TestType, 16>({40, 40, 8, true, true, false});
    check_portable<TestType, 16>({40, 40, 8, true, false, false});
}
