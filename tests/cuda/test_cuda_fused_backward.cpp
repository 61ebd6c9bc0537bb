// The fused backward kernels: their very text, run lane after lane on the host, against the reference in float64.
#include <catch2/catch.hpp>

#include "cuda/fused/fused_backward.h"
#include "tests/cuda/backward_run.h"

namespace locus::test::test_cuda_fused_backward {

using cuda::Bfloat16;
using cuda::Half;

namespace {

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
    run_tables<Scalar, width, around_keys>(args);
}

template <class Scalar>
void check_portable(const BackwardCase& one, int width) {
    BackwardProblem<Scalar> problem(one, width);
    run_portable(problem.args(), width);
    problem.check(false);
}

template <class Scalar, int width, int tile_outer, int tile_inner>
void check_case(const BackwardCase& one) {
    BackwardProblem<Scalar> problem(one, width);
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
