// The emulated warpgroup and copy engine by themselves: small products that can be counted by hand, and what they
// refuse.
#include <catch2/catch.hpp>

#include "cuda/hopper/hopper_forward.h"
#include "tests/cuda/emulated_warpgroup.h"
#include "tests/cuda/guarded.h"

namespace locus::test::test_cuda_warpgroup {

using cuda::Half;

namespace {

constexpr int kBox = 64 * 128, kBarrier = 2 * kBox;

/// One warpgroup, memory for two boxes and a barrier, and 100 rows of small whole numbers in global memory.
struct Bench {
    using Block = EmulatedHopper<cuda::HopperLane<64>>;
    using Lane = cuda::HopperLane<64>;
    Block block{128, kBarrier + 8};
    Guarded<Half> rows{100 * 64};
    cuda::RowsMap map{rows.data(), 64, 100, 1, 1, 128, 12800, 12800};

    Bench() {
        for (int n = 0; n < 100 * 64; ++n) rows.data()[n] = cuda::from_float<Half>(number(n / 64, n % 64));
        block.start_barrier(kBarrier, 1);
        block.barriers_are_started();
        block.sync();
    }
    static float number(int row, int channel) { return row < 100 ? float((row * 7 + channel * 5) % 11 - 5) : 0.0f; }
    void bring(int to, int row) {
        block.expect(kBarrier, kBox);
        block.copy_box(to, map, 0, row, 0, 0, kBarrier);
    }
    /// Lane fragments of a left factor [64, 16].
    static void hold(Lane& r, int first_row, int first_channel) {
        for (int n = 0; n < 4; ++n) {
            const int row = first_row + 16 * r.warp() + r.group() + n % 2 * 8,
                      channel = first_channel + 2 * r.pair() + n / 2 * 8;
            r.p[0][n] = cuda::packed<Half>(number(row, channel), number(row, channel + 1));
        }
    }
    template <class Expected>
    void check(Expected expected) {
        int wrong = 0;
        block.each([&](Lane& r) {
            for (int n = 0; n < 8; ++n)
                for (int e = 0; e < 4; ++e)
                    wrong +=
                        r.scores[n][e] != expected(16 * r.warp() + r.group() + e / 2 * 8, 8 * n + 2 * r.pair() + e % 2);
        });
        CHECK(wrong == 0);
    }
    void hold_and_multiply(std::uint64_t right) {
        block.each([](Lane& r) { hold(r, 0, 16); });
        block.fence_registers();
        block.template multiply_held<Half, false, true>([&](Lane& r) {
            return Block::HeldFactors{r.p[0], right, r.scores};
        });
        block.commit_products();
    }
};

/// What a block says that is refused.
template <class F>
std::string refusal(F f) {
    Bench bench;
    try {
        f(bench);
    } catch (const std::logic_error& error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace

TEST_CASE("emulation: products of described boxes are matrix products", "[emulation][hopper]") {
    Bench bench;
    using Lane = Bench::Lane;
    bench.bring(0, 50);  // rows 100 to 113 do not exist
    bench.block.wait(kBarrier, 0);
    bench.bring(kBox, 3);
    bench.block.wait(kBarrier, 1);
    SECTION("registers times rows") {
        bench.hold_and_multiply(cuda::advanced(cuda::rows_descriptor(bench.block.address(0)), cuda::kStepOfChannels));
        bench.block.wait_for_products<0>();
        bench.check([](int i, int j) {
            float sum = 0;
            for (int k = 16; k < 32; ++k) sum += Bench::number(i, k) * Bench::number(50 + j, k);
            return sum;
        });
    }
    SECTION("registers times channels") {
        bench.block.each([](Lane& r) { Bench::hold(r, 5, 0); });
        bench.block.fence_registers();
        for (int step = 0; step < 2; ++step)
            bench.block.multiply_held<Half, true, true>([&](Lane& r) {
                return Bench::Block::HeldFactors{
                    r.p[0],
                    cuda::advanced(cuda::channels_descriptor(bench.block.address(kBox)), step * cuda::kStepOfRows),
                    r.scores};
            });
        bench.block.commit_products();
        bench.block.wait_for_products<0>();
        bench.check([](int i, int j) {
            float sum = 0;
            for (int k = 0; k < 32; ++k) sum += Bench::number(5 + i, k % 16) * Bench::number(3 + k, j);
            return sum;
        });
    }
    SECTION("rows times rows") {
        bench.block.fence_registers();
        bench.block.multiply_shared<Half, true>([&](Lane& r) {
            return Bench::Block::SharedFactors{
                cuda::advanced(cuda::rows_descriptor(bench.block.address(0)), 3 * cuda::kStepOfChannels),
                cuda::advanced(cuda::rows_descriptor(bench.block.address(kBox)), 3 * cuda::kStepOfChannels), r.scores};
        });
        bench.block.commit_products();
        bench.block.wait_for_products<0>();
        bench.check([](int i, int j) {
            float sum = 0;
            for (int k = 48; k < 64; ++k) sum += Bench::number(50 + i, k) * Bench::number(3 + j, k);
            return sum;
        });
    }
    SECTION("the first product of a sum, whatever stood there") {
        bench.block.each([](Lane& r) { std::fill_n(r.scores[0], 32, 7.0f); });
        bench.block.fence_registers();
        const auto channels = [&](int step) {
            return [&bench, step](Lane& r) {
                return Bench::Block::SharedFactors{
                    cuda::advanced(cuda::rows_descriptor(bench.block.address(0)), step * cuda::kStepOfChannels),
                    cuda::advanced(cuda::rows_descriptor(bench.block.address(kBox)), step * cuda::kStepOfChannels),
                    r.scores};
            };
        };
        bench.block.multiply_shared<Half, false>(channels(1));
        bench.block.multiply_shared<Half, true>(channels(2));
        bench.block.commit_products();
        bench.block.wait_for_products<0>();
        bench.check([](int i, int j) {
            float sum = 0;
            for (int k = 16; k < 48; ++k) sum += Bench::number(50 + i, k) * Bench::number(3 + j, k);
            return sum;
        });
    }
    bench.block.check_end();
}

TEST_CASE("emulation: the emulated Hopper refuses what a device may get wrong", "[emulation][hopper]") {
    using Catch::Contains;
    using Lane = Bench::Lane;
    const auto rows = [](Bench& bench) { return cuda::rows_descriptor(bench.block.address(0)); };
    const auto clear_byte = [](Bench& bench) {
        bench.block.each([&](Lane& r) {
            if (r.thread == 0) bench.block.zero16(r, bench.block.shared<unsigned char>(0));
        });
    };
    CHECK_THAT(refusal([&](Bench& bench) { bench.block.wait(kBarrier, 0); }), Contains("a wait that never ends"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.block.expect(kBarrier, kBox + 16);
                   bench.block.copy_box(0, bench.map, 0, 0, 0, 0, kBarrier);
                   bench.block.wait(kBarrier, 0);
               }),
               Contains("16 bytes are missing"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.hold_and_multiply(rows(bench));
               }),
               Contains("multiplied in flight"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 1);  // the phase before the first one is over
                   bench.hold_and_multiply(rows(bench));
               }),
               Contains("multiplied in flight"));
    CHECK_THAT(refusal([&](Bench& bench) { bench.hold_and_multiply(rows(bench)); }),
               Contains("multiplied before it was written"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   clear_byte(bench);
                   bench.block.sync();
                   bench.hold_and_multiply(rows(bench));
               }),
               Contains("after ordinary use without a fence"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   clear_byte(bench);
                   bench.block.fence_copies();
                   bench.hold_and_multiply(rows(bench));
               }),
               Contains("without a barrier after the store"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   bench.hold_and_multiply(rows(bench));
                   bench.bring(0, 1);
               }),
               Contains("filled while a product reads it"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   bench.hold_and_multiply(rows(bench));
                   bench.block.wait_for_products<0>();
                   bench.bring(0, 1);
               }),
               Contains("filled while others use it"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   bench.hold_and_multiply(rows(bench));
                   bench.block.each([](Lane& r) { r.scores[7][3] += 1; });
                   bench.block.wait_for_products<0>();
               }),
               Contains("an accumulator changed"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   bench.hold_and_multiply(rows(bench));
                   bench.block.each([](Lane& r) { r.p[0][3] = 0; });
                   bench.block.wait_for_products<0>();
               }),
               Contains("a left factor changed"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.wait(kBarrier, 0);
                   bench.block.multiply_held<Half, false, true>([&](Lane& r) {
                       return Bench::Block::HeldFactors{r.p[0], rows(bench), r.scores};
                   });
               }),
               Contains("no fence before the product"));
    CHECK_THAT(refusal([&](Bench& bench) {
                   bench.bring(0, 0);
                   bench.block.check_end();
               }),
               Contains("copies under way"));
}

}  // namespace locus::test::test_cuda_warpgroup
