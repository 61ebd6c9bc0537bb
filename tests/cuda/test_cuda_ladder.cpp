// Every version of the ladder is disentangled attention: its element kernels run on the host.
#include "cuda/ladder/steps.h"
#include "tests/cuda/host_backend.h"
#include "tests/cuda/ladder_problem.h"

namespace locus::test::test_cuda_ladder {

using cuda::FusedInput;
using cuda::KernelVersion;

namespace {

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

}  // namespace

TEST_CASE("emulation: every version of the ladder computes the same context, its element kernels run on the host",
          "[emulation][ladder]") {
    const test::HostBackend backend;
    ladder_check(
        [](KernelVersion version) {
            return version != KernelVersion::fused && version != KernelVersion::cublas_gather;
        },
        [&](KernelVersion version, const FusedInput& input, const RelativeBuckets& buckets) {
            return cuda::ladder::launch(version, backend, input, buckets);
        });
}

TEST_CASE("emulation: the version with products from cuBLAS asks for the right ones", "[emulation][ladder]") {
    const test::HostBackend backend;
    ladder_check([](KernelVersion version) { return version == KernelVersion::cublas_gather; },
                 [&](KernelVersion, const FusedInput& input, const RelativeBuckets& buckets) {
                     return cuda::ladder::launch_with(
                         backend, input, buckets, [&](const cuda::ladder::Problem& at, float* context) {
                             cuda::ladder::CublasGather(backend, at, multiply_batched).run(context);
                         });
                 });
}

TEST_CASE("emulation: the ladder refuses what its first versions do not compute", "[emulation][ladder]") {
    const RelativeBuckets buckets = RelativeBuckets::clamped(3, 3, 2);
    const auto refused = [&](auto change, const char* words = "the ladder computes padded samples") {
        FusedInput input = ladder_input(3, 3, 32, 4);
        change(input);
        try {
            cuda::ladder::launch(KernelVersion::naive, test::HostBackend(), input, buckets);
        } catch (const Error& error) {
            return std::string(error.what()).starts_with(words);
        }
        return false;
    };
    CHECK(refused([](auto& input) { input.dropout = 0.5f; }));
    CHECK(refused([](auto& input) { input.lengths = {3}; }));
    CHECK(refused([](auto& input) { input.k_r = {}; }));
    CHECK(refused([](auto& input) { input.visible_keys = Matrix<std::uint8_t>::Ones(2, 3); }));
    CHECK_FALSE(refused([](auto&) {}));
    // Shapes that do not fit would be read beyond their ends.
    CHECK(refused([](auto& input) { input.v = Tensor<float>({1, 1, 2, 32}); }, "fused attention: v has the shape "));
    CHECK(refused([](auto& input) { input.k_r = Tensor<float>({1, 2, 32}); }, "fused attention: k_r has the shape "));
    CHECK(refused(
        [](auto& input) {
            input.q = input.k = input.v = Tensor<float>({1, 1, 4, 32});
        },
        "fused attention: "));
    CHECK(refused([](auto& input) { input.scale = 0; }, "fused attention: scale is "));
}

}  // namespace locus::test::test_cuda_ladder
