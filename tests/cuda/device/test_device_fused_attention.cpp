// Fused attention on the device against the CPU in float64.  Without a device every comparison says so and is skipped;
// what is refused is refused before a device is asked.
#include <catch2/catch.hpp>

#include <cmath>
#include <iostream>
#include <random>

#include "core/attention/disentangled.h"
#include "core/products.h"
#include "cuda/fused/dropout.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/half_types.h"
#include "tests/cuda/device/has_device.h"
#include "tests/max_abs.h"

namespace locus::test::test_device_fused_attention {

using cuda::FusedPath;
using cuda::FusedPrecision;

namespace {

float rounded(float x, FusedPrecision precision) {
    switch (precision) {
        case FusedPrecision::f16:
            return cuda::to_float(cuda::from_float<cuda::Half>(x));
        case FusedPrecision::bf16:
            return cuda::to_float(cuda::from_float<cuda::Bfloat16>(x));
        default:
            return x;
    }
}

double roundoff(FusedPrecision precision) {
    return precision == FusedPrecision::f32 ? 0x1p-24 : precision == FusedPrecision::f16 ? 0x1p-11 : 0x1p-8;
}

Tensor<float> random_tensor(const Shape& shape, FusedPrecision precision, std::mt19937& random) {
    Tensor<float> tensor(shape);
    std::normal_distribution<float> normal;
    for (Index n = 0; n < tensor.size(); ++n) tensor.data()[n] = rounded(normal(random), precision);
    return tensor;
}

cuda::FusedInput input_of(Index batch, Index queries, Index keys, Index width, Index table, FusedPrecision precision) {
    constexpr Index kHeads = 3;
    std::mt19937 random(5);
    cuda::FusedInput input;
    input.q = random_tensor({batch, kHeads, queries, width}, precision, random);
    input.k = random_tensor({batch, kHeads, keys, width}, precision, random);
    input.v = random_tensor({batch, kHeads, keys, width}, precision, random);
    input.k_r = random_tensor({kHeads, table, width}, precision, random);
    input.q_r = random_tensor({kHeads, table, width}, precision, random);
    input.scale = static_cast<float>(1 / score_divisor<double>(3, width));
    return input;
}

/// One head in float64, and how far rounding may carry a kernel from it: scores by the error of their sums and, with
/// 16 bits, of position scores kept as halves and of queries with a row; probabilities and context by one rounding
/// each.
struct Expected {
    Matrix<double> context;
    double allowed = 0;
};
Expected expect(const cuda::FusedInput& input, const RelativeBuckets& buckets, FusedPrecision precision, Index b,
                Index h) {
    const Index heads = input.q.extent(1), at = b * heads + h, width = input.q.extent(3), keys = input.k.extent(2);
    const auto wide = [](const auto& view) { return Matrix<double>(view.template cast<double>()); };
    const Matrix<double> q = wide(input.q.matrix(at)), k = wide(input.k.matrix(at)), v = wide(input.v.matrix(at)),
                         k_r = wide(input.k_r.matrix(h)), q_r = wide(input.q_r.matrix(h));
    const Matrix<double> c2p = content_to_position<double>(q, k_r, buckets),
                         p2c = position_to_content<double>(k, q_r, buckets);
    const Matrix<double> scores = (content_to_content<double>(q, k) + c2p + p2c) * input.scale;
    Mask mask = Mask::Ones(q.rows(), keys);
    if (input.visible_keys.size() > 0)
        for (Index j = 0; j < keys; ++j) mask.col(j).setConstant(input.visible_keys(b, j));
    Matrix<double> probs = masked_softmax<double>(scores, mask);
    if (input.dropout > 0) {
        const std::uint32_t key = dropout_key(input.seed, static_cast<std::uint32_t>(at));
        for (Index i = 0; i < probs.rows(); ++i)
            for (Index j = 0; j < keys; ++j) {
                const auto two = cuda::dropout_numbers(key, static_cast<int>(i), static_cast<int>(j / 2 * 2));
                const bool dropped = (j % 2 ? two.second : two.first) < dropout_threshold(input.dropout);
                probs(i, j) *= dropped ? 0 : 1 / (1 - double(input.dropout));
            }
    }
    const auto longest = [](const Matrix<double>& rows) { return rows.rowwise().norm().maxCoeff(); };
    const double products = longest(q) * longest(k) + longest(q) * longest(k_r) + longest(k) * longest(q_r);
    const bool halves = precision != FusedPrecision::f32;
    // The Hopper kernel adds a row of q_r to a query far from the diagonal, and rounds the sum.
    const double of_queries =
        halves && is_hopper() ? roundoff(precision) * longest(k) * (longest(q) + longest(q_r)) : 0;
    const double of_scores = input.scale * ((halves ? 0x1p-11 * (max_abs(c2p) + max_abs(p2c)) : 0) + of_queries +
                                            (double(width) + 4) * 0x1p-24 * products);
    const double largest = max_abs(v) / (1 - input.dropout);
    return {times<double>(probs, v),
            largest * (2 * roundoff(precision) + 2 * of_scores + (double(keys) + 8) * 0x1p-24)};
}

void check_against_cpu(const cuda::FusedInput& input, const RelativeBuckets& buckets, FusedPrecision precision,
                       FusedPath path = FusedPath::fastest) {
    const cuda::FusedOutput found = cuda::fused_attention(input, buckets, precision, path);
    REQUIRE(found.context.shape() == input.q.shape());
    for (Index b = 0; b < input.q.extent(0); ++b)
        for (Index h = 0; h < input.q.extent(1); ++h) {
            const Expected expected = expect(input, buckets, precision, b, h);
            const Matrix<double> context = found.context.matrix(b * input.q.extent(1) + h).cast<double>();
            const double worst = max_abs(context - expected.context);
            INFO("sample " << b << ", head " << h << ": largest difference " << worst << ", allowed "
                           << expected.allowed);
            CHECK((context.allFinite() && worst <= expected.allowed));
        }
}

constexpr FusedPrecision kPrecisions[] = {FusedPrecision::f32, FusedPrecision::f16, FusedPrecision::bf16};

}  // namespace

TEST_CASE("cuda: fused attention equals the CPU's", "[cuda][fused]") {
    if (!has_device()) return;
    for (const FusedPrecision precision : kPrecisions)
        for (const Index width : {32, 64, 128, 40})
            for (const Index length : {1, 7, 31, 33, 63, 65, 127, 129, 300, 513, 1025}) {
                INFO("T " << length << ", d " << width << ", precision " << static_cast<int>(precision));
                const auto log = RelativeBuckets::logarithmic(length, length, 32, 128, OffsetClamp::official);
                check_against_cpu(input_of(2, length, length, width, 64, precision), log, precision);
                const auto clamped = RelativeBuckets::clamped(length, length, 512);
                check_against_cpu(input_of(2, length, length, width, 1024, precision), clamped, precision);
            }
}

TEST_CASE("cuda: fused attention over buckets that leave rows out", "[cuda][fused]") {
    if (!has_device()) return;
    for (const FusedPrecision precision : kPrecisions)
        for (const Index span : {128, 256}) {
            INFO("k " << span << ", precision " << static_cast<int>(precision));
            const auto buckets = RelativeBuckets::logarithmic(300, 300, span, span, OffsetClamp::official);
            check_against_cpu(input_of(2, 300, 300, 64, 2 * span, precision), buckets, precision);
        }
}

TEST_CASE("cuda: every forward kernel by name equals the CPU's", "[cuda][fused][hopper]") {
    if (!has_device()) return;
    for (const FusedPath path : {FusedPath::portable, FusedPath::tensor_cores, FusedPath::hopper})
        for (const FusedPrecision precision : {FusedPrecision::f16, FusedPrecision::bf16})
            for (const Index width : {64})
                for (const Index length : {1, 7, 31, 33, 63, 65, 127, 129, 300, 513, 1025}) {
                    INFO("T " << length << ", d " << width << ", precision " << static_cast<int>(precision)
                              << ", kernel " << static_cast<int>(path));
                    const auto buckets = RelativeBuckets::logarithmic(length, length, 32, 128, OffsetClamp::official);
                    cuda::FusedInput input = input_of(2, length, length, width, 64, precision);
                    try {
                        check_against_cpu(input, buckets, precision, path);
                        // Kernels take other ways where keys are hidden and numbers are drawn.
                        input.visible_keys = Matrix<std::uint8_t>::Ones(2, length);
                        for (Index j = 1; j < length; j += 5) input.visible_keys(1, j) = 0;
                        check_against_cpu(input, buckets, precision, path);
                        input.dropout = 0.1f;
                        input.seed = 3;
                        check_against_cpu(input, buckets, precision, path);
                    } catch (const Error& error) {
                        if (path != FusedPath::hopper || is_hopper()) throw;
                        std::cout << "skipped: " << error.what() << std::endl;
                        return;
                    }
                }
}

TEST_CASE("cuda: fused attention with hidden keys, dropout, and other numbers of keys", "[cuda][fused]") {
    if (!has_device()) return;
    for (const FusedPrecision precision : kPrecisions)
        for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 300}, {300, 1}, {65, 129}}) {
            const auto buckets = RelativeBuckets::logarithmic(queries, keys, 32, 128, OffsetClamp::official);
            cuda::FusedInput input = input_of(2, queries, keys, 64, 64, precision);
            input.dropout = 0.1f;
            input.seed = 77;
            input.visible_keys = Matrix<std::uint8_t>::Ones(2, keys);
            for (Index j = 0; j < keys; j += 3) input.visible_keys(0, j) = 0;
            input.visible_keys.row(1).setZero();
            check_against_cpu(input, buckets, precision);
            const cuda::FusedOutput once = cuda::fused_attention(input, buckets, precision),
                                    again = cuda::fused_attention(input, buckets, precision);
            for (Index h = 0; h < 3; ++h) CHECK(max_abs(once.context.matrix(3 + h)) == 0);
            CHECK(once.context.values() == again.context.values());
        }
}

TEST_CASE("cuda: scores whose powers no float holds, and position scores beyond halves", "[cuda][fused][hopper]") {
    if (!has_device()) return;
    for (const FusedPrecision precision : kPrecisions)
        for (const float scale : {16.0f, 4096.0f}) {
            cuda::FusedInput input = input_of(1, 600, 600, 64, 64, precision);
            input.scale = scale;
            const auto buckets = RelativeBuckets::logarithmic(600, 600, 32, 128, OffsetClamp::official);
            const cuda::FusedOutput found = cuda::fused_attention(input, buckets, precision);
            for (Index h = 0; h < 3; ++h) {
                INFO("scale " << scale << ", precision " << static_cast<int>(precision) << ", head " << h);
                CHECK(found.context.matrix(h).allFinite());
                CHECK(max_abs(found.context.matrix(h)) <= max_abs(input.v.matrix(h)) * (1 + 0x1p-7f));
            }
        }
}

TEST_CASE("cuda: a packed sample of no numbers does not show in its neighbours", "[cuda][fused][hopper]") {
    if (!has_device()) return;
    const std::vector<Index> lengths = {100, 70, 130};
    for (const FusedPrecision precision : kPrecisions) {
        cuda::FusedInput packed = input_of(1, 300, 300, 64, 64, precision);
        packed.lengths = lengths;
        const auto buckets = RelativeBuckets::logarithmic(130, 130, 32, 128, OffsetClamp::official);
        const cuda::FusedOutput clean = cuda::fused_attention(packed, buckets, precision);
        for (Tensor<float>* tensor : {&packed.q, &packed.k, &packed.v})
            for (Index h = 0; h < 3; ++h) tensor->matrix(h).middleRows(100, 70).setConstant(std::nanf(""));
        const cuda::FusedOutput found = cuda::fused_attention(packed, buckets, precision);
        for (Index h = 0; h < 3; ++h) {
            CHECK(found.context.matrix(h).topRows(100) == clean.context.matrix(h).topRows(100));
            CHECK(found.context.matrix(h).bottomRows(130) == clean.context.matrix(h).bottomRows(130));
        }
    }
}

TEST_CASE("cuda: packed samples are what they are alone", "[cuda][fused]") {
    if (!has_device()) return;
    const std::vector<Index> lengths = {5, 0, 64, 130, 1};
    for (const FusedPrecision precision : kPrecisions) {
        cuda::FusedInput packed = input_of(1, 200, 200, 64, 64, precision);
        packed.lengths = lengths;
        const auto buckets = RelativeBuckets::logarithmic(130, 130, 32, 128, OffsetClamp::official);
        const cuda::FusedOutput together = cuda::fused_attention(packed, buckets, precision);
        Index first = 0;
        for (const Index length : lengths) {
            if (length == 0) continue;
            cuda::FusedInput alone = packed;
            alone.lengths.clear();
            for (Tensor<float>* tensor : {&alone.q, &alone.k, &alone.v}) {
                Tensor<float> part({1, 3, length, 64});
                for (Index h = 0; h < 3; ++h) part.matrix(h) = tensor->matrix(h).middleRows(first, length);
                *tensor = part;
            }
            const auto own = RelativeBuckets::logarithmic(length, length, 32, 128, OffsetClamp::official);
            const cuda::FusedOutput single = cuda::fused_attention(alone, own, precision);
            // Another tile may be chosen for another length, so this is near and not the same.
            for (Index h = 0; h < 3; ++h) {
                const Expected expected = expect(alone, own, precision, 0, h);
                const Matrix<float> gap =
                    together.context.matrix(h).middleRows(first, length) - single.context.matrix(h);
                CHECK((gap.allFinite() && max_abs(gap) <= 2 * expected.allowed));
            }
            first += length;
        }
    }
}

TEST_CASE("emulation: fused attention refuses what does not fit, in one sentence that names it", "[emulation][fused]") {
    const auto buckets = RelativeBuckets::clamped(9, 9, 4);
    const auto refusal = [&](auto change) {
        cuda::FusedInput input = input_of(2, 9, 9, 64, 8, FusedPrecision::f32);
        change(input);
        try {
            cuda::fused_attention(input, buckets, FusedPrecision::f32);
        } catch (const Error& error) {
            return std::to_string(error.exit_status()) + " " + error.what();
        }
        return std::string("computed");
    };
    using Catch::Contains;
    CHECK_THAT(refusal([](auto& in) {
                   in.k = Tensor<float>({2, 3, 9, 32});
               }),
               Contains("2 fused attention: k has the shape [2,3,9,32], expected [2,3,9,64]"));
    CHECK_THAT(refusal([](auto& in) {
                   in.k_r = Tensor<float>({3, 9, 64});
               }),
               Contains("k_r has the shape [3,9,64], expected [3,8,64]"));
    CHECK_THAT(refusal([](auto& in) {
                   in.q = Tensor<float>({2, 3, 8, 64});
               }),
               Contains("buckets are of 9 x 9 pairs, expected 8 x 9"));
    CHECK_THAT(refusal([](auto& in) { in.dropout = 1; }), Contains("dropout is 1.0"));
    CHECK_THAT(refusal([](auto& in) { in.visible_keys = Matrix<std::uint8_t>::Ones(2, 8); }), Contains("visible_keys"));
    CHECK_THAT(refusal([](auto& in) { in.lengths = {4, 4}; }), Contains("add up to 8"));
    CHECK_THAT(refusal([](auto& in) { in.q = Tensor<float>({9, 64}); }), Contains("four axes"));
    if (!cuda::available()) CHECK_THAT(refusal([](auto&) {}), Contains("4 CUDA: "));
}

}  // namespace locus::test::test_device_fused_attention
