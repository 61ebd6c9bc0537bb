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

}  // namespace locus::test::test_cuda_roofline
