// The Hopper backward kernels: their very text, run on emulated warpgroups and an emulated copy engine, against the
// reference in float64.
#include <catch2/catch.hpp>

#include "cuda/hopper/hopper_backward.h"
#include "tests/cuda/backward_run.h"
#include "tests/cuda/emulated_warpgroup.h"

namespace locus::test::test_cuda_hopper_backward {

using cuda::Bfloat16;
using cuda::Half;

namespace {

template <class Scalar, int width, int tile_outer, bool around_keys>
void run_hopper_side(const cuda::BackwardArguments<Scalar>& args) {
    using Block = EmulatedHopper<cuda::HopperBackwardLane<width, around_keys>>;
    using Kernel = cuda::HopperBackward<Scalar, width, tile_outer, around_keys, Block>;
    const cuda::BackwardSide<Scalar, around_keys> side{args};
    const auto maps = cuda::maps_of(args, width);
    const int outer = around_keys ? args.forward.keys : args.forward.queries,
              inner = around_keys ? args.forward.queries : args.forward.keys,
              capacity = cuda::HopperBackwardLayout::capacity(args.forward.table_rows, tile_outer, inner),
              bytes = cuda::HopperBackwardLayout::of(tile_outer, width, capacity, around_keys,
                                                     side.outer_rows() != nullptr, side.inner_rows() != nullptr)
                          .bytes;
    for_each_block(outer, tile_outer, args, [&](int n, int h, int b) {
        Block block(Kernel::kThreads, bytes);
        Kernel(block, args, maps, capacity, n, h, b).run();
        block.check_end();
    });
    run_tables<Scalar, width, around_keys>(args);
}

template <class Scalar, int tile_outer>
void check_case(const BackwardCase& one) {
    INFO("tile of " << tile_outer);
    BackwardProblem<Scalar> problem(one, 64);
    REQUIRE((cuda::suits_tensor_cores(problem.args()) && cuda::can_be_mapped(problem.args(), 64)));
    run_delta(problem.args(), 64);
    run_hopper_side<Scalar, 64, tile_outer, false>(problem.args());
    run_hopper_side<Scalar, 64, tile_outer, true>(problem.args());
    problem.check(true);
}

}  // namespace

TEST_CASE("emulation: the Hopper backward kernels are disentangled attention's gradients",
          "[emulation][hopper][backward]") {
    for (const Index length : {1, 7, 63, 64, 65, 128, 129})
        for (const bool logarithmic : {false, true}) {
            check_case<Half, 128>({length, length, 16, logarithmic});
            if (length <= 65) check_case<Half, 64>({length, length, 16, logarithmic});
        }
    check_case<Bfloat16, 128>({65, 65, 16, true});
    check_case<Half, 128>({300, 300, 150});  // tiles whose places all have rows of their own
    check_case<Half, 128>({300, 300, 64, true});
}

TEST_CASE("emulation: Hopper backward far from the diagonal, where tiles reach one row",
          "[emulation][hopper][backward]") {
    check_case<Half, 128>({130, 600, 4, true});
    check_case<Half, 64>({600, 130, 8});
    check_case<Bfloat16, 64>({300, 300, 4, true});
    check_case<Half, 64>({200, 330, 1});
    BackwardCase hides{70, 520, 4};
    hides.hides = true;
    check_case<Half, 64>(hides);
    hides = {520, 70, 4};
    hides.hides = true;
    check_case<Half, 64>(hides);
    check_case<Half, 64>({64, 3400, 4});  // more tiles than there is room for their columns
    BackwardCase plain{70, 260, 4};
    plain.c2p = plain.p2c = false;
    check_case<Half, 64>(plain);
    plain.c2p = true;
    check_case<Half, 64>(plain);
    plain.c2p = false;
    plain.p2c = true;
    check_case<Half, 64>(plain);
}

TEST_CASE("emulation: Hopper backward with numbers of table rows that no box and no vector divides",
          "[emulation][hopper][backward]") {
    // Rows are stored eight at a time: those of one token must not reach into those of the next.
    check_case<Half, 64>({70, 70, 5});  // 10 rows
    check_case<Half, 64>({200, 200, 37});
    check_case<Bfloat16, 128>({138, 138, 512});
    check_case<Half, 128>({137, 137, 512});
    check_case<Half, 128>({138, 138, 512, false, true, true, false, 0, {138}});
}

TEST_CASE("emulation: Hopper backward with other numbers of queries and keys", "[emulation][hopper][backward]") {
    check_case<Half, 128>({130, 70, 8});
    check_case<Half, 64>({70, 130, 100});
    check_case<Half, 128>({65, 31, 512});
    check_case<Half, 64>({1, 129, 4});
    check_case<Bfloat16, 128>({200, 1, 4});
}

TEST_CASE("emulation: Hopper backward without a term, with hidden keys, with dropout, packed",
          "[emulation][hopper][backward]") {
    check_case<Half, 64>({100, 70, 16, true, false, true});
    check_case<Half, 64>({100, 70, 16, true, true, false});
    check_case<Half, 128>({100, 70, 16, true, false, false});
    check_case<Half, 64>({65, 129, 16, true, true, true, true});
    check_case<Half, 128>({65, 40, 16, true, true, true, true});
    check_case<Bfloat16, 64>({65, 90, 16, false, true, true, true, 0.25f});
    check_case<Half, 64>({70, 260, 4, false, true, true, true, 0.25f});
    check_case<Half, 64>({65, 65, 8, true, true, true, false, 0.25f, {5, 0, 65, 33, 1}});
    check_case<Half, 128>({200, 200, 8, true, true, true, false, 0, {5, 0, 200, 64, 1}});
}

TEST_CASE("emulation: every part of the Hopper backward layout starts where it must, and deberta's tables have room",
          "[emulation][hopper][backward]") {
    using cuda::HopperBackwardLayout;
    for (const bool around_keys : {false, true})
        for (const int tile : {64, 128}) {
            for (const int rows : {1, 7, 10, 64, 74, 191, 202, 512, 639, 1024}) {
                const auto at = HopperBackwardLayout::of(tile, 64, rows, around_keys, true, true);
                const int outer = HopperBackwardLayout::outer_stride(rows, around_keys),
                          inner = HopperBackwardLayout::inner_stride(tile, around_keys);
                CHECK((outer >= (rows + 7) / 8 * 8 && outer % 2 == 0 && inner >= tile + 63 && inner % 2 == 0));
                CHECK((at.window % 1024 == 0 && at.stages % 1024 == 0));
                CHECK(at.outer_table - at.stages == 3 * 2 * 8192);
                CHECK(at.inner_table - at.outer_table >= 2 * tile * outer);
                CHECK(at.places - at.inner_table >= std::max(2 * 64 * inner, 4 * 64 * 33));
                CHECK(at.changes - at.places >= 2 * (tile + 63 + 2));
                CHECK(at.columns - at.changes >= 4 * (tile + 64) / 32 + 4);
                CHECK((at.inner_table % 16 == 0 && at.columns % 16 == 0 && at.carry % 4 == 0));
                CHECK(at.barriers % 8 == 0);
                CHECK(at.bytes - at.barriers == 8 * 9);
            }
            // version 3's 512 rows, and version 1's 1024 with the smaller tile
            CHECK(HopperBackwardLayout::of(tile, 64, tile == 64 ? 1024 : 512, around_keys, true, true).bytes <=
                  227 * 1024);
        }
}

TEST_CASE("emulation: Hopper backward gives the same bits twice", "[emulation][hopper][backward]") {
    const BackwardCase one{130, 260, 8, true};
    BackwardProblem<Half> first(one, 64), second(one, 64);
    for (auto* problem : {&first, &second}) {
        run_delta(problem->args(), 64);
        run_hopper_side<Half, 64, 64, false>(problem->args());
        run_hopper_side<Half, 64, 64, true>(problem->args());
    }
    CHECK(first.same_bits(second));
}

}  // namespace locus::test::test_cuda_hopper_backward
