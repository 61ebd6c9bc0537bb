// The Hopper kernels at their barriers: in no order in which a device may run their warps do they wait for ever, or
// pass a barrier in another phase than the one they mean.
#include <catch2/catch.hpp>

#include "cuda/hopper/hopper_backward.h"
#include "cuda/hopper/hopper_forward.h"
#include "tests/cuda/backward_run.h"
#include "tests/cuda/forward_problem.h"
#include "tests/cuda/warps_at_barriers.h"

namespace locus::test::test_cuda_hopper_waits {

using cuda::Half;

namespace {

/// The warps of one block of the forward kernel: warpgroups that compute, and a warp or a warpgroup behind them whose
/// first warp asks for copies.
template <int tile_queries>
WarpsAtBarriers forward_warps(const cuda::ForwardArguments<Half>& args, int most_rows, int block, int head,
                              int sample) {
    using Recorder = BarrierRecorder<cuda::HopperLane<64>>;
    constexpr int kComputing = tile_queries / 16, kWarps = kComputing + (tile_queries == 128 ? 4 : 1);
    const int capacity = std::min(most_rows, cuda::HopperLayout::capacity(args.table_rows, tile_queries, args.keys)),
              bytes = cuda::HopperLayout::of(tile_queries, 64, capacity, args.k_r, args.q_r).bytes;
    const auto maps = cuda::maps_of(args, 64);
    std::vector<BarrierSteps> steps;
    for (int warp = 0; warp < kWarps; ++warp) {
        Recorder recorder({warp < kComputing, warp == kComputing, warp / 4, kWarps, kComputing}, bytes);
        cuda::HopperForward<Half, 64, tile_queries, Recorder>(recorder, args, maps, capacity, block, head, sample)
            .run();
        steps.push_back(recorder.steps());
    }
    return WarpsAtBarriers(std::move(steps));
}

template <int tile_queries>
void check_forward(const ForwardCase& one, int most_rows = cuda::HopperLayout::kMostRows) {
    INFO(text_of(one) << ", tile of " << tile_queries << ", at most " << most_rows << " rows");
    const ForwardProblem<Half> made(one, 64);
    for (int sample = 0; sample < made.args.batch; ++sample)
        for (int block = 0; block * tile_queries < made.args.queries; ++block)
            CHECK_NOTHROW(forward_warps<tile_queries>(made.args, most_rows, block, 0, sample).try_orders());
}

/// All warps compute, the first one also asks for copies.
template <int tile_outer, bool around_keys>
WarpsAtBarriers backward_warps(const cuda::BackwardArguments<Half>& args, int block, int sample) {
    using Recorder = BarrierRecorder<cuda::HopperBackwardLane<64, around_keys>>;
    using Layout = cuda::HopperBackwardLayout;
    constexpr int kWarps = tile_outer / 16;
    const cuda::BackwardSide<Half, around_keys> side{args};
    const int inner = around_keys ? args.forward.queries : args.forward.keys,
              capacity = Layout::capacity(args.forward.table_rows, tile_outer, inner),
              bytes = Layout::of(tile_outer, 64, capacity, around_keys, side.outer_rows(), side.inner_rows()).bytes;
    const auto maps = cuda::maps_of(args, 64);
    std::vector<BarrierSteps> steps;
    for (int warp = 0; warp < kWarps; ++warp) {
        Recorder recorder({true, warp == 0, warp / 4, kWarps, kWarps}, bytes);
        cuda::HopperBackward<Half, 64, tile_outer, around_keys, Recorder>(recorder, args, maps, capacity, block, 0,
                                                                          sample)
            .run();
        steps.push_back(recorder.steps());
    }
    return WarpsAtBarriers(std::move(steps));
}

template <int tile_outer, bool around_keys>
void check_backward_side(const cuda::BackwardArguments<Half>& args) {
    INFO((around_keys ? "around keys" : "around queries") << ", tile of " << tile_outer);
    const int outer = around_keys ? args.forward.keys : args.forward.queries;
    for (int sample = 0; sample < args.forward.batch; ++sample)
        for (int block = 0; block * tile_outer < outer; ++block)
            CHECK_NOTHROW(backward_warps<tile_outer, around_keys>(args, block, sample).try_orders());
}
template <int tile_outer>
void check_backward(const BackwardCase& one) {
    INFO(one.text());
    BackwardProblem<Half> made(one, 64);
    check_backward_side<tile_outer, false>(made.args());
    check_backward_side<tile_outer, true>(made.args());
}

}  // namespace

TEST_CASE("emulation: warps of the Hopper forward kernel never wait for ever", "[emulation][hopper]") {
    check_forward<128>({1, 1, 16});
    check_forward<128>({129, 64, 16, true});
    check_forward<128>({1500, 1500, 64});  // far before, near and far behind the diagonal
    check_forward<64>({1500, 1500, 64, true});
    check_forward<128>({1200, 1200, 512});     // the row table is made more than once
    check_forward<128>({700, 700, 100}, 191);  // for every tile near the diagonal
    for (const bool c2p : {false, true})
        for (const bool p2c : {false, true}) check_forward<128>({300, 700, 32, true, c2p, p2c, true});
    check_forward<128>({400, 900, 16, true, true, true, false, 0.25f});
    ForwardCase packed{700, 700, 48, true};
    packed.lengths = {64, 700, 0, 1, 129, 640};
    check_forward<128>(packed);
    check_forward<64>(packed);
}

TEST_CASE("emulation: warps of the Hopper backward kernels never wait for ever", "[emulation][hopper][backward]") {
    check_backward<128>({1, 1, 16});
    check_backward<128>({129, 64, 16, true});
    check_backward<128>({1500, 1500, 64});
    check_backward<64>({1500, 1500, 64, true});
    check_backward<64>({200, 3400, 4, true});
    for (const bool c2p : {false, true})
        for (const bool p2c : {false, true}) check_backward<128>({300, 700, 32, true, c2p, p2c, true});
    BackwardCase packed{700, 700, 48, true};
    packed.lengths = {64, 700, 0, 1, 129, 640};
    check_backward<128>(packed);
    check_backward<64>(packed);
}

TEST_CASE("emulation: warps that wait for each other, or pass in another phase, are refused", "[emulation][hopper]") {
    using enum BarrierStep::Kind;
    const auto refusal = [](std::vector<BarrierSteps> steps) -> std::string {
        try {
            WarpsAtBarriers(std::move(steps)).try_orders();
        } catch (const std::logic_error& error) {
            return error.what();
        }
        return "nothing";
    };
    const auto ends_with = [](const char* what) { return Catch::Matchers::EndsWith(what); };
    const BarrierStep start{starts, 0, 1}, meet{meets, -1, 2}, announce{announces, 0, 8}, fill{fills, 0, 8};
    const BarrierStep even{waits, 0, 0}, odd{waits, 0, 1}, arrive{arrives, 0, 1};
    CHECK(refusal({{start, meet, announce, fill}, {meet, even}}) == "nothing");
    CHECK_THAT(refusal({{start, meet, announce}, {meet, even}}), ends_with("waits for ever"));
    CHECK_THAT(refusal({{start, arrive}, {even}}), ends_with("was not started"));
    CHECK_THAT(refusal({{start, meet, arrive, arrive}, {meet, even, odd}}), ends_with("is over, too"));
    CHECK_THAT(refusal({{start, meet, arrive, even}, {meet, even, even}}), ends_with("a parity twice"));
    // Two warps arrive in each phase; without the wait one of them may do so twice in the first.
    const BarrierStep both{starts, 0, 2};
    CHECK(refusal({{both, meet, arrive, even, arrive}, {meet, arrive, even, arrive}}) == "nothing");
    CHECK_THAT(refusal({{both, meet, arrive, arrive}, {meet, arrive, even, arrive}}), ends_with("in another phase"));
    CHECK_THAT(refusal({{start, meet, arrive}, {meet, arrive}}), ends_with("in another phase"));
    CHECK_THAT(refusal({{meet, meet}, {meet}}), ends_with("waits for ever"));
    // Each waits for what the other does afterwards.
    const BarrierStep other{starts, 8, 1}, wait_other{waits, 8, 0}, arrive_other{arrives, 8, 1};
    CHECK_THAT(refusal({{start, other, meet, even, arrive_other}, {meet, wait_other, arrive}}),
               ends_with("waits for ever"));
}

}  // namespace locus::test::test_cuda_hopper_waits
