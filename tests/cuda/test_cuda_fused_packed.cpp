// The fused forward kernels on packed samples, run on the host: each sample is what it is alone, whatever lies beside
// it.
#include <catch2/catch.hpp>

#include <limits>
#include <numeric>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "cuda/fused/fused_forward.h"
#include "cuda/fused/portable_forward.h"
#include "tests/cuda/emulated_block.h"
#include "tests/cuda/guarded.h"
#include "tests/max_abs.h"

namespace locus::test::test_cuda_fused_packed {

using cuda::Bfloat16;
using cuda::Half;

namespace {

const std::vector<int> kLengths = {5, 0, 65, 33, 1};
constexpr Index kHeads = 2, kSpan = 16;

template <class Scalar, int width>
struct Packed {
    std::vector<int> starts = {0};
    Index tokens;
    std::mt19937 random{5};
    Rounded<Scalar> q, k, v, k_r, q_r;
    Guarded<Scalar> context;
    Guarded<float> log_sum;
    std::vector<std::uint16_t> rows;
    cuda::ForwardArguments<Scalar> args;

    Packed()
        : tokens(std::accumulate(kLengths.begin(), kLengths.end(), Index(0))),
          q(kHeads * tokens, width, 1, random),
          k(kHeads * tokens, width, 1, random),
          v(kHeads * tokens, width, 1, random),
          k_r(kHeads * 2 * kSpan, width, 1, random),
          q_r(kHeads * 2 * kSpan, width, 1, random),
          context(static_cast<std::size_t>(kHeads * tokens * width)),
          log_sum(kLengths.size() * kHeads * 65) {
        for (const int length : kLengths) starts.push_back(starts.back() + length);
        const RelativeBuckets line = RelativeBuckets::clamped(65, 65, kSpan);
        rows.assign(line.rows().begin(), line.rows().end());
        const auto sheet = [&](const Scalar* data) { return cuda::Rows<const Scalar>{data, 0, tokens * width, width}; };
        args.q = sheet(q.narrow.data());
        args.k = sheet(k.narrow.data());
        args.v = sheet(v.narrow.data());
        args.context = {context.data(), 0, tokens * width, width};
        args.log_sum = log_sum.data();
        args.k_r = k_r.narrow.data();
        args.q_r = q_r.narrow.data();
        args.line = {rows.data(), 64};
        args.table_rows = 2 * kSpan;
        args.first_query = args.first_key = starts.data();
        args.batch = static_cast<int>(kLengths.size());
        args.heads = kHeads;
        args.queries = args.keys = 65;
        args.scale = static_cast<float>(1 / score_divisor<double>(3, width));
    }

    /// The largest difference of a sample's context from the reference on this sample alone, in units of what rounding
    /// may make of it; as in test_cuda_fused_forward.cpp.
    double worst_of(std::size_t b) const {
        const Index length = kLengths[b], first = starts[b];
        const RelativeBuckets line = RelativeBuckets::clamped(length, length, kSpan);
        double worst = 0;
        for (Index h = 0; h < kHeads; ++h) {
            const auto part = [&](const Rounded<Scalar>& all) {
                return Matrix<double>(all.wide.middleRows(h * tokens + first, length));
            };
            const auto table = [&](const Rounded<Scalar>& all) {
                return Matrix<double>(all.wide.middleRows(h * 2 * kSpan, 2 * kSpan));
            };
            Matrix<double> scores = content_to_content<double>(part(q), part(k));
            const Matrix<double> c2p = content_to_position<double>(part(q), table(k_r), line),
                                 p2c = position_to_content<double>(part(k), table(q_r), line);
            scores = (scores + c2p + p2c) * args.scale;
            const Matrix<double> expected = masked_softmax<double>(scores, Mask()) * part(v);
            const double halves = 0x1p-11 * (max_abs(c2p) + max_abs(p2c)) * args.scale,
                         of_scores = halves + 64 * width * 0x1p-24 * max_abs(scores);
            const double allowed = max_abs(part(v)) * (2 * kRoundoff<Scalar> + 2 * of_scores + 0x1p-17);
            for (Index i = 0; i < length; ++i)
                for (Index c = 0; c < width; ++c) {
                    const double found = cuda::to_float(context.data()[(h * tokens + first + i) * width + c]);
                    const double share = std::abs(found - expected(i, c)) / allowed;
                    if (!(share <= worst)) worst = share;
                }
        }
        return worst;
    }
};

template <class Scalar, int width, int tile_queries, int tile_keys>
void run_tensor_cores(const cuda::ForwardArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::ForwardLane<width, tile_keys>>;
    using Kernel = cuda::FusedForward<Scalar, width, tile_queries, tile_keys, Block>;
    const int capacity = std::min(args.table_rows, tile_queries + args.keys - 1);
    for (int b = 0; b < args.batch; ++b)
        for (int h = 0; h < args.heads; ++h)
            for (int n = 0; n * tile_queries < args.queries; ++n) {
                Block block(Kernel::kThreads,
                            cuda::ForwardLayout::of(tile_queries, tile_keys, width, capacity, true, true).bytes);
                Kernel(block, args, capacity, n, h, b).run();
            }
}

template <class Scalar, int width>
void run_portable(const cuda::ForwardArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::PortableLane>;
    using Kernel = cuda::PortableForward<Scalar, Block>;
    for (int b = 0; b < args.batch; ++b)
        for (int h = 0; h < args.heads; ++h)
            for (int n = 0; n * Kernel::kTile < args.queries; ++n) {
                Block block(Kernel::kThreads, Kernel::bytes(width));
                Kernel(block, args, width, n, h, b).run();
            }
}

template <class Scalar, int width>
void check(void (*run)(const cuda::ForwardArguments<Scalar>&)) {
    Packed<Scalar, width> problem;
    run(problem.args);
    for (std::size_t b = 0; b < kLengths.size(); ++b) {
        INFO("sample " << b << " of " << kLengths[b] << " tokens");
        CHECK((kLengths[b] == 0 || problem.worst_of(b) <= 1));
    }
    CHECK(problem.context.guards_hold());
    CHECK(problem.log_sum.guards_hold());
    // Infinite values of one sample: a product of theirs with a probability of 0 would show in a neighbour.
    for (Index h = 0; h < kHeads; ++h)
        for (Index n = 0; n < 33 * width; ++n)
            problem.v.narrow.data()[(h * problem.tokens + 70) * width + n] =
                cuda::from_float<Scalar>(std::numeric_limits<float>::infinity());
    run(problem.args);
    for (const std::size_t b : {0, 2, 4}) CHECK(problem.worst_of(b) <= 1);
}

}  // namespace

TEST_CASE("emulation: packed samples know nothing of each other in the fused forward kernels", "[emulation][fused]") {
    check<Half, 64>(run_tensor_cores<Half, 64, 64, 64>);
    check<Bfloat16, 32>(run_tensor_cores<Bfloat16, 32, 64, 64>);
    check<float, 24>(run_portable<float, 24>);
    check<Half, 8>(run_portable<Half, 8>);
}

}  // namespace locus::test::test_cuda_fused_packed
