// The floors beside which measured times stand.
#include <catch2/catch.hpp>

#include "tests/bench/cuda/roofline.h"

namespace locus::test::test_cuda_roofline {

using namespace locus::cuda;

TEST_CASE("emulation: the floor of attention is that of its distinct products, or of its bytes", "[emulation]") {
    // Counted by hand: 3 tokens, k 2, d 8.  Rows i - j + 2 in 0 ... 3: queries reach {2,1,0}, {3,2,1}, {3,3,2}.
    const Work small = forward_work(1, 1, 8, RelativeBuckets::clamped(3, 3, 2));
    // Keys are reached by {2,3,3}, {1,2,3}, {0,1,2}: 3 + 3 + 2 and 2 + 3 + 3 distinct rows.
    CHECK(small.operations == 4 * 9 * 8 + 2 * 8 * 16);
    CHECK(small.bytes == 2 * 8 * (12 + 2 * 4));
    const Work back = backward_work(1, 1, 8, RelativeBuckets::clamped(3, 3, 2));
    CHECK(back.operations == 10 * 9 * 8 + 3 * 2 * 8 * 16);
    CHECK(back.bytes == 2 * 8 * (24 + 6 * 4));
    // deberta-v3's buckets, H 12, d 64, in microseconds: computed elsewhere by exact counting.
    const auto floor = [](Index batch, Index tokens) {
        const auto line = RelativeBuckets::logarithmic(tokens, tokens, 256, 512, OffsetClamp::official);
        return 1e6 * forward_work(batch, 12, 64, line).seconds(kH200);
    };
    CHECK(floor(8, 2048) == Approx(160).epsilon(0.01));
    CHECK(floor(8, 512) == Approx(13.6).epsilon(0.01));
    CHECK(floor(32, 8192) == Approx(8862).epsilon(0.01));
    CHECK(floor(1, 128) == Approx(0.4).epsilon(0.1));  // bytes, not products
}

TEST_CASE("emulation: ceilings are those reported for a Hopper, and of others what their attributes say",
          "[emulation]") {
    const auto products = [](const std::string& name, int major, int minor) {
        return ceilings_of({name, major, minor, 100, 1e9, 2e9, 1024}).products_per_second / (100 * 1e9);
    };
    CHECK(ceilings_of({"NVIDIA H200", 9, 0, 132, 1.98e9, 3.2e9, 6144}).bytes_per_second == 4.3e12);
    CHECK(ceilings_of({"NVIDIA H100 80GB HBM3", 9, 0, 132, 1.98e9, 2.6e9, 5120}).bytes_per_second == 3.35e12);
    CHECK(ceilings_of({"NVIDIA H100 80GB HBM3", 9, 0, 132, 1.98e9, 2.6e9, 5120}).products_per_second == 790e12);
    // 108 multiprocessors at 1.41 GHz: the 312 TFLOP/s and 1.55 TB/s of the data sheet.
    const Ceilings a100 = ceilings_of({"NVIDIA A100-SXM4-40GB", 8, 0, 108, 1.41e9, 1.215e9, 5120});
    CHECK(a100.products_per_second == Approx(312e12).epsilon(0.01));
    CHECK(a100.bytes_per_second == Approx(1555e9).epsilon(0.01));
    CHECK(products("NVIDIA GeForce RTX 4090", 8, 9) == 512);
    CHECK(products("NVIDIA L4", 8, 9) == 1024);
    CHECK(products("NVIDIA B200", 10, 0) == 8192);
}

}  // namespace locus::test::test_cuda_roofline
