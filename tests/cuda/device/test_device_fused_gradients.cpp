// Fused attention backwards on the device against the CPU in float64, and twice the same to the last bit.  Without a
// device every comparison says so and is skipped; what is refused is refused before a device is asked.
#include <catch2/catch.hpp>

#include <iostream>
#include <limits>

#include "cuda/fused/fused.h"
#include "tests/cuda/backward_problem.h"
#include "tests/cuda/device/has_device.h"

namespace locus::test::test_device_fused_gradients {

using cuda::FusedPath;
using cuda::FusedPrecision;

namespace {

constexpr Index kHeads = 3;

template <class Scalar>
constexpr FusedPrecision kPrecision = std::is_same_v<Scalar, float>        ? FusedPrecision::f32
                                      : std::is_same_v<Scalar, cuda::Half> ? FusedPrecision::f16
                                                                           : FusedPrecision::bf16;

/// Random numbers that the format holds exactly.
template <class Scalar>
Tensor<float> random_tensor(const Shape& shape, std::mt19937& random) {
    Tensor<float> tensor(shape);
    std::normal_distribution<float> normal;
    for (Index n = 0; n < tensor.size(); ++n)
        tensor.data()[n] = cuda::to_float(cuda::from_float<Scalar>(normal(random)));
    return tensor;
}

template <class Scalar>
struct Given {
    cuda::FusedInput input;
    Tensor<float> d_context;
};

template <class Scalar>
Given<Scalar> given(const BackwardCase& one, Index width) {
    std::mt19937 random(5);
    Index batch = 2, queries = one.queries, keys = one.keys;
    if (!one.lengths.empty()) {
        batch = 1;
        queries = 0;
        for (const Index length : one.lengths) queries += length;
        keys = queries;
    }
    Given<Scalar> all;
    cuda::FusedInput& input = all.input;
    input.q = random_tensor<Scalar>({batch, kHeads, queries, width}, random);
    input.k = random_tensor<Scalar>({batch, kHeads, keys, width}, random);
    input.v = random_tensor<Scalar>({batch, kHeads, keys, width}, random);
    if (one.c2p) input.k_r = random_tensor<Scalar>({kHeads, 2 * one.span, width}, random);
    if (one.p2c) input.q_r = random_tensor<Scalar>({kHeads, 2 * one.span, width}, random);
    input.lengths = one.lengths;
    if (one.hides) {
        input.visible_keys = Matrix<std::uint8_t>(batch, keys);
        for (Index b = 0; b < batch; ++b)
            for (Index j = 0; j < keys; ++j) input.visible_keys(b, j) = one.is_visible(b, j);
    }
    input.scale = static_cast<float>(1 / score_divisor<double>(1 + one.c2p + one.p2c, width));
    input.dropout = one.dropout;
    input.seed = 77;
    all.d_context = random_tensor<Scalar>(input.q.shape(), random);
    return all;
}

/// One sample and head in float64.
template <class Scalar>
HeadProblem problem_of(const BackwardCase& one, const Given<Scalar>& all, Index sample, Index h) {
    const cuda::FusedInput& input = all.input;
    const bool packed = !one.lengths.empty();
    Index first = 0;
    for (Index b = 0; packed && b < sample; ++b) first += one.lengths[static_cast<std::size_t>(b)];
    const Index tq = packed ? one.lengths[static_cast<std::size_t>(sample)] : one.queries, tk = packed ? tq : one.keys;
    const auto wide = [&](const Tensor<float>& tensor, Index count) {
        return Matrix<double>(
            tensor.matrix(packed ? h : sample * kHeads + h).middleRows(first, count).template cast<double>());
    };
    HeadProblem problem{{wide(input.q, tq), wide(input.k, tk), wide(input.v, tk), {}, {}, {}, {}, 1.0 / input.scale},
                        wide(all.d_context, tq),
                        {},
                        {},
                        {},
                        one.buckets(tq, tk),
                        input.scale};
    if (one.c2p) problem.head.k_r = input.k_r.matrix(h).template cast<double>();
    if (one.p2c) problem.head.q_r = input.q_r.matrix(h).template cast<double>();
    complete(problem, one, sample, dropout_key(input.seed, static_cast<std::uint32_t>(sample * kHeads + h)));
    return problem;
}

template <class Scalar>
void check_on_device(const BackwardCase& one, Index width, FusedPath path = FusedPath::fastest) {
    INFO(one.text() << ", d " << width << ", precision " << static_cast<int>(kPrecision<Scalar>) << ", kernels "
                    << static_cast<int>(path));
    const auto all = given<Scalar>(one, width);
    const RelativeBuckets buckets = one.buckets(one.queries, one.keys);
    const auto forward = cuda::fused_attention(all.input, buckets, kPrecision<Scalar>);
    const auto gradients = [&] {
        return cuda::fused_attention_backward(all.input, forward, all.d_context, buckets, kPrecision<Scalar>, path);
    };
    const cuda::FusedGradients once = gradients(), again = gradients();
    CHECK((once.q.values() == again.q.values() && once.k.values() == again.k.values()));
    CHECK((once.v.values() == again.v.values() && once.k_r.values() == again.k_r.values() &&
           once.q_r.values() == again.q_r.values()));
    const bool packed = !one.lengths.empty();
    const Index batch = packed ? static_cast<Index>(one.lengths.size()) : 2;
    for (Index h = 0; h < kHeads; ++h) {
        Bounded k_r{Matrix<double>::Zero(2 * one.span, width), Matrix<double>::Zero(2 * one.span, width)}, q_r = k_r;
        Index first = 0;
        for (Index b = 0; b < batch; ++b) {
            if (packed && one.lengths[static_cast<std::size_t>(b)] == 0) continue;
            const HeadProblem problem = problem_of(one, all, b, h);
            // The kernels' own context was rounded once more, and its probabilities had the scores' errors.
            const HeadExpected expected = expect_gradients<Scalar>(problem, !std::is_same_v<Scalar, float>, true);
            const auto check = [&](const char* name, const Tensor<float>& found, const Bounded& of) {
                const Matrix<double> part = found.matrix(packed ? h : b * kHeads + h)
                                                .middleRows(packed ? first : 0, of.value.rows())
                                                .template cast<double>();
                INFO(name << " of sample " << b << ", head " << h);
                CHECK(worst_error(part, of) <= 1);
            };
            check("dQ", once.q, expected.q);
            check("dK", once.k, expected.k);
            check("dV", once.v, expected.v);
            if (packed) first += one.lengths[static_cast<std::size_t>(b)];
            k_r.add(expected.k_r);
            q_r.add(expected.q_r);
        }
        INFO("head " << h);
        if (one.c2p) CHECK(worst_error(once.k_r.matrix(h).template cast<double>(), k_r) <= 1);
        if (one.p2c) CHECK(worst_error(once.q_r.matrix(h).template cast<double>(), q_r) <= 1);
        for (Index row = 0; row < 2 * one.span; ++row)
            if (std::find(buckets.rows().begin(), buckets.rows().end(), row) == buckets.rows().end())
                CHECK((once.k_r.matrix(h).row(row).isZero(0) && once.q_r.matrix(h).row(row).isZero(0)));
    }
}

}  // namespace

TEMPLATE_TEST_CASE("cuda: fused attention's gradients equal the CPU's, and are the same bits twice",
                   "[cuda][fused][backward]", float, cuda::Half, cuda::Bfloat16) {
    if (!has_device()) return;
    for (const Index width : {32, 64, 128, 40})
        for (const Index length : {1, 7, 31, 33, 63, 65, 127, 129, 300, 513, 1025})
            check_on_device<TestType>({length, length, 32, length % 2 == 1}, width);
    check_on_device<TestType>({300, 300, 512}, 64);
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 300}, {300, 1}, {65, 129}})
        check_on_device<TestType>({queries, keys, 32, true, true, true, true, 0.1f}, 64);
    BackwardCase skips{300, 300, 256, true};  // leaves rows out
    skips.max_position = skips.span;
    check_on_device<TestType>(skips, 64);
}

TEMPLATE_TEST_CASE("cuda: the backward kernels by name give the CPU's gradients", "[cuda][fused][backward][hopper]",
                   cuda::Half, cuda::Bfloat16) {
    if (!has_device()) return;
    for (const FusedPath path : {FusedPath::portable, FusedPath::tensor_cores, FusedPath::hopper}) {
        if (path == FusedPath::hopper && !is_hopper()) {
            std::cout << "skipped: the Hopper kernels, for the device is none" << std::endl;
            continue;
        }
        for (const Index length : {1, 33, 64, 129, 300, 1025}) {
            check_on_device<TestType>({length, length, 32, true}, 64, path);
            check_on_device<TestType>({length, length, 32, false, true, true, true, 0.1f}, 64, path);
        }
        check_on_device<TestType>({300, 300, 32, true, true, false}, 64, path);
        check_on_device<TestType>({300, 300, 32, true, false, true, false, 0.25f}, 64, path);
        check_on_device<TestType>({200, 200, 32, true, true, true, false, 0.1f, {5, 0, 64, 200, 1}}, 64, path);
    }
}

TEMPLATE_TEST_CASE("cuda: fused attention's gradients of packed samples, and with dropout", "[cuda][fused][backward]",
                   float, cuda::Half, cuda::Bfloat16) {
    if (!has_device()) return;
    check_on_device<TestType>({130, 130, 32, true, true, true, false, 0, {5, 0, 64, 130, 1}}, 64);
    check_on_device<TestType>({130, 130, 32, false, true, true, false, 0.25f, {5, 0, 64, 130, 1}}, 128);
}

TEST_CASE("emulation: fused attention backwards refuses what does not fit, in one sentence that names it",
          "[emulation][fused][backward]") {
    const BackwardCase one{9, 9, 4};
    const auto refusal = [&](auto change) {
        auto all = given<float>(one, 64);
        cuda::FusedOutput forward{Tensor<float>(all.input.q.shape()), Tensor<float>({2, kHeads, 9})};
        change(all, forward);
        try {
            cuda::fused_attention_backward(all.input, forward, all.d_context, one.buckets(9, 9), FusedPrecision::f32);
        } catch (const Error& error) {
            return std::to_string(error.exit_status()) + " " + error.what();
        }
        return std::string("computed");
    };
    using Catch::Contains;
    if (!cuda::available()) CHECK_THAT(refusal([](auto&, auto&) {}), Contains("4 CUDA: "));
    CHECK_THAT(
        refusal([](auto& all, auto&) {
            all.d_context = Tensor<float>({2, 3, 9, 32});
        }),
        Contains("2 fused attention: the gradient of the context has the shape [2,3,9,32], expected [2,3,9,64]"));
    CHECK_THAT(refusal([](auto&, auto& forward) {
                   forward.log_sum = Tensor<float>({2, 3, 8});
               }),
               Contains("log_sum has the shape [2,3,8], expected [2,3,9]"));
    CHECK_THAT(refusal([](auto&, auto& forward) {
                   forward.context = Tensor<float>({2, 3, 8, 64});
               }),
               Contains("the context has the shape [2,3,8,64]"));
    CHECK_THAT(refusal([](auto& all, auto&) { all.input.dropout = 1; }), Contains("dropout is 1.0"));
    for (const float scale : {0.0f, -0.125f, std::numeric_limits<float>::infinity()})
        CHECK_THAT(refusal([=](auto& all, auto&) { all.input.scale = scale; }),
                   Contains("2 fused attention: scale is "));
}

}  // namespace locus::test::test_device_fused_gradients
