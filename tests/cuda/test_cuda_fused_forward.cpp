// The fused forward kernel: its very text, run lane after lane on the host, against the reference in float64.
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "cuda/fused/fused_forward.h"
#include "cuda/fused/portable_forward.h"
#include "tests/cuda/emulated_block.h"
#include "tests/cuda/forward_problem.h"

namespace locus::test::test_cuda_fused_forward {

using cuda::Bfloat16;
using cuda::Half;

namespace {

/// Every block of the kernel, one after the other.
template <class Scalar, int width, int tile_queries, int tile_keys>
void run_tensor_cores(const cuda::ForwardArguments<Scalar>& args) {
    using Block = EmulatedBlock<cuda::ForwardLane<width, tile_keys>>;
    using Kernel = cuda::FusedForward<Scalar, width, tile_queries, tile_keys, Block>;
    REQUIRE(cuda::suits_tensor_cores(args));
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

template <class Scalar, int width, int tile_queries, int tile_keys>
void check_case(const ForwardCase& one) {
    check_forward<Scalar>(one, width, RoundedScores::tables, run_tensor_cores<Scalar, width, tile_queries, tile_keys>);
}

template <class Scalar>
void check_portable(const ForwardCase& one, int width) {
    check_forward<Scalar>(one, width, RoundedScores::none,
                          [&](const auto& args) { run_portable<Scalar>(args, width); });
}

}  // namespace

TEST_CASE("emulation: the fused forward kernel is disentangled attention", "[emulation][fused]") {
    for (const Index length : {1, 7, 31, 33, 63, 65, 127, 129, 300})
        for (const bool logarithmic : {false, true}) check_case<Half, 64, 64, 64>({length, length, 16, logarithmic});
    for (const Index length : {33, 129}) check_case<Bfloat16, 64, 64, 64>({length, length, 16, true});
}

TEST_CASE("emulation: fused forward with other tiles and numbers of queries and keys", "[emulation][fused]") {
    check_case<Half, 64, 64, 64>({70, 200, 100});
    check_case<Half, 64, 128, 64>({200, 77, 32, true});
    check_case<Half, 64, 128, 64>({129, 300, 512});
    check_case<Half, 64, 32, 32>({1, 129, 4});
    check_case<Half, 64, 64, 64>({300, 1, 4});
    check_case<Half, 64, 64, 64>({130, 70, 1});  // tiles of two rows
    check_case<Bfloat16, 64, 64, 64>({130, 130, 2, true});
}

TEST_CASE("emulation: fused forward without a term, with hidden keys, with dropout", "[emulation][fused]") {
    check_case<Half, 64, 64, 64>({100, 100, 16, true, false, true});
    check_case<Half, 64, 64, 64>({100, 100, 16, true, true, false});
    check_case<Half, 64, 64, 64>({100, 100, 16, true, false, false});
    check_case<Half, 64, 64, 64>({150, 150, 16, true, true, true, true});
    check_case<Bfloat16, 64, 64, 64>({150, 90, 16, false, true, true, true});
    check_case<Half, 64, 64, 64>({100, 130, 16, true, true, true, true, 0.25f});
}

TEST_CASE("emulation: fused forward of packed samples, none of which shows in another", "[emulation][fused]") {
    ForwardCase one{130, 130, 16, true};
    one.lengths = {5, 0, 64, 130, 70, 1};
    one.lost = 2;
    check_case<Half, 64, 64, 64>(one);
    one.heads_inside = true;
    check_portable<Half>(one, 16);
}

TEST_CASE("emulation: packed samples after more than 2^31 numbers are the same samples", "[emulation][fused]") {
    // Memory that nobody touches costs nothing: a million rows of 4,096 numbers are 8 GB of addresses.
    constexpr long long kRow = 4096, kFirst = 1'000'000;
    constexpr Index kTokens = 70, kWidth = 64;
    ForwardCase one{kTokens, kTokens, 16, true};
    one.lengths = {kTokens};
    one.heads_inside = true;
    ForwardProblem<Half> near(one, kWidth);
    run_tensor_cores<Half, 64, 64, 64>(near.args);

    const std::size_t bytes = static_cast<std::size_t>(kFirst + kTokens) * kRow * sizeof(Half);
    void* all = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(all != MAP_FAILED);
    Half* const start = static_cast<Half*>(all);
    cuda::ForwardArguments<Half> args = near.args;
    const int starts[] = {static_cast<int>(kFirst), static_cast<int>(kFirst + kTokens)};
    args.first_query = args.first_key = starts;
    const auto move = [&](auto& rows, Index column) {  // of q, k, v and context beside each other
        for (Index t = 0; t < kTokens; ++t)
            std::copy_n(rows.data + t * rows.row, near.kHeads * kWidth, start + (kFirst + t) * kRow + column);
        rows = {start + column, 0, kWidth, kRow};
    };
    move(args.q, 0);
    move(args.k, 512);
    move(args.v, 1024);
    args.context = {start + 1536, 0, kWidth, kRow};
    run_tensor_cores<Half, 64, 64, 64>(args);
    const auto differ = [&] {
        Index wrong = 0;
        for (Index t = 0; t < kTokens; ++t)
            for (Index c = 0; c < near.kHeads * kWidth; ++c)
                wrong += cuda::to_float(start[(kFirst + t) * kRow + 1536 + c]) !=
                         cuda::to_float(near.context.data()[t * near.kHeads * kWidth + c]);
        return wrong;
    };
    CHECK(differ() == 0);
    run_portable<Half>(near.args, kWidth);
    run_portable<Half>(args, kWidth);
    CHECK(differ() == 0);
    munmap(all, bytes);
}

TEMPLATE_TEST_CASE("emulation: the portable forward kernel is disentangled attention at any width",
                   "[emulation][fused]", float, Half) {
    for (const Index length : {1, 31, 33, 70})
        for (const bool logarithmic : {false, true}) check_portable<TestType>({length, length, 16, logarithmic}, 24);
    check_portable<TestType>({70, 33, 5}, 8);
    check_portable<TestType>({33, 70, 100, false, true, true, true, 0.5f}, 40);
    check_portable<TestType>({40, 40, 8, true, false, true}, 16);
    ForwardCase skips{70, 70, 32, true};
    skips.max_position = skips.span;
    check_portable<TestType>(skips, 16);
    check_portable<TestType>({40, 40, 8, true, true, false}, 16);
    check_portable<TestType>({40, 40, 8, true, false, false}, 16);
}

}  // namespace locus::test::test_cuda_fused_forward
