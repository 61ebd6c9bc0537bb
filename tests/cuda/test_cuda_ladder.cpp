// Every version of the ladder is disentangled attention; no version is timed before it is right.
#include <catch2/catch.hpp>

#include <cmath>
#include <iostream>
#include <random>

#include "core/attention/disentangled.h"
#include "cuda/ladder/steps.h"
#include "cuda/ladder/versions.h"
#include "cuda/runtime.h"
#include "tests/cuda/host_backend.h"
#include "tests/max_abs.h"

namespace locus::test::test_cuda_ladder {

using cuda::FusedInput;
using cuda::KernelVersion;

namespace {

FusedInput input_of(Index queries, Index keys, Index width, Index rows) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    const auto tensor = [&](const Shape& shape) {
        Tensor<float> made(shape);
        for (Index n = 0; n < made.size(); ++n) made.data()[n] = normal(random);
        return made;
    };
    FusedInput input;
    input.q = tensor({2, 3, queries, width});
    input.k = tensor({2, 3, keys, width});
    input.v = tensor({2, 3, keys, width});
    input.k_r = tensor({3, rows, width});
    input.q_r = tensor({3, rows, width});
    input.scale = static_cast<float>(1 / score_divisor<double>(3, width));
    return input;
}

/// Scores carry the error of three sums, which shares turn into twice as much; then the sum over the keys.
void check_context(const FusedInput& input, const RelativeBuckets& line, const Tensor<float>& found) {
    REQUIRE(found.shape() == input.q.shape());
    const Index heads = input.q.extent(1), width = input.q.extent(3), keys = input.k.extent(2);
    for (Index at = 0; at < input.q.extent(0) * heads; ++at) {
        const auto wide = [](const auto& view) { return Matrix<double>(view.template cast<double>()); };
        const Matrix<double> q = wide(input.q.matrix(at)), k = wide(input.k.matrix(at)), v = wide(input.v.matrix(at)),
                             k_r = wide(input.k_r.matrix(at % heads)), q_r = wide(input.q_r.matrix(at % heads));
        const Matrix<double> scores = (content_to_content<double>(q, k) + content_to_position<double>(q, k_r, line) +
                                       position_to_content<double>(k, q_r, line)) *
                                      input.scale;
        const Matrix<double> context = masked_softmax<double>(scores, Mask()) * v;
        const auto longest = [](const Matrix<double>& rows) { return rows.rowwise().norm().maxCoeff(); };
        const double products = longest(q) * longest(k) + longest(q) * longest(k_r) + longest(k) * longest(q_r);
        const double of_scores = input.scale * (double(width) + 4) * 0x1p-24 * products;
        const double allowed = max_abs(v) * (2 * of_scores + (2 * double(keys) + 8) * 0x1p-24);
        const Matrix<double> gap = found.matrix(at).cast<double>() - context;
        INFO("head " << at << ": largest difference " << max_abs(gap) << ", allowed " << allowed);
        CHECK((gap.allFinite() && max_abs(gap) <= allowed));
    }
}

/// What the library does, as a loop.
void multiply_batched(const cuda::BatchedProducts<float>& all) {
    const auto& at = all.first;
    for (int batch_head = 0; batch_head < all.count; ++batch_head)
        for (int i = 0; i < at.rows; ++i)
            for (int j = 0; j < at.columns; ++j) {
                float sum = 0;
                for (int c = 0; c < at.depth; ++c)
                    sum += at.a[batch_head * all.a_stride + i * at.a_row + c] *
                           at.b[batch_head * all.b_stride + (all.b_transposed ? j * at.b_row + c : c * at.b_row + j)];
                at.c[batch_head * all.c_stride + i * at.c_row + j] = sum;
            }
}

/// launch(version, input, line) -> context, for every version of which takes(version) is true.
template <class Takes, class Launch>
void check_versions(Takes takes, Launch launch) {
    for (const auto& [queries, keys] : std::vector<std::pair<Index, Index>>{{1, 1}, {33, 33}, {7, 40}, {40, 7}})
        for (const bool logarithmic : {false, true})
            for (const cuda::NamedVersion& named : cuda::kKernelVersions) {
                if (!takes(named.version)) continue;
                INFO("version " << named.name << ", " << queries << " x " << keys << (logarithmic ? ", log" : ""));
                const RelativeBuckets line =
                    logarithmic ? RelativeBuckets::logarithmic(queries, keys, 8, 32, OffsetClamp::official)
                                : RelativeBuckets::clamped(queries, keys, 8);
                const FusedInput input = input_of(queries, keys, 32, 16);
                check_context(input, line, launch(named.version, input, line));
            }
}

}  // namespace

TEST_CASE("emulation: every version of the ladder computes the same context, its cells run on the host",
          "[emulation][ladder]") {
    const test::HostBackend backend;
    check_versions(
        [](KernelVersion version) {
            return version != KernelVersion::fused && version != KernelVersion::cublas_gather;
        },
        [&](KernelVersion version, const FusedInput& input, const RelativeBuckets& line) {
            return cuda::ladder::launch(version, backend, input, line);
        });
}

TEST_CASE("emulation: the version with bought products asks for the right ones", "[emulation][ladder]") {
    const test::HostBackend backend;
    check_versions([](KernelVersion version) { return version == KernelVersion::cublas_gather; },
                   [&](KernelVersion, const FusedInput& input, const RelativeBuckets& line) {
                       return cuda::ladder::launch_with(
                           backend, input, line, [&](const cuda::ladder::Problem& at, float* context) {
                               cuda::ladder::CublasGather(backend, at, multiply_batched).run(context);
                           });
                   });
}

TEST_CASE("cuda: every version of the ladder computes the same context", "[cuda][ladder]") {
    if (!cuda::available()) {
        std::cout << "skipped: " << cuda::why_unavailable() << std::endl;
        return;
    }
    const auto launch = [](KernelVersion version, const FusedInput& input, const RelativeBuckets& line) {
        return cuda::launch(version, input, line);
    };
    check_versions([](KernelVersion version) { return version != KernelVersion::cublas_gather; }, launch);
    try {
        cuda::Cublas cublas;
    } catch (const Error& error) {
        std::cout << "skipped: " << error.what() << std::endl;
        return;
    }
    check_versions([](KernelVersion version) { return version == KernelVersion::cublas_gather; }, launch);
}

TEST_CASE("emulation: the ladder refuses what its first versions do not compute", "[emulation][ladder]") {
    const RelativeBuckets line = RelativeBuckets::clamped(3, 3, 2);
    const auto refused = [&](auto change) {
        FusedInput input = input_of(3, 3, 32, 4);
        change(input);
        try {
            cuda::ladder::launch(KernelVersion::naive, test::HostBackend(), input, line);
        } catch (const Error& error) {
            return std::string(error.what()).starts_with("the ladder computes padded samples");
        }
        return false;
    };
    CHECK(refused([](auto& input) { input.dropout = 0.5f; }));
    CHECK(refused([](auto& input) { input.lengths = {3}; }));
    CHECK(refused([](auto& input) { input.k_r = {}; }));
    CHECK(refused([](auto& input) { input.visible_keys = Matrix<std::uint8_t>::Ones(2, 3); }));
    CHECK_FALSE(refused([](auto&) {}));
}

}  // namespace locus::test::test_cuda_ladder
