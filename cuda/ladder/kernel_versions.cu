#include <algorithm>

#include "cuda/device.h"
#include "cuda/ladder/steps.h"
#include "cuda/ladder/versions.h"
#include "cuda/reference/device_backend.h"

namespace locus::cuda {

namespace {

/// use(version), as ladder::with_version, with cuBLAS for the version that needs it.
template <class Use>
void with_any_version(KernelVersion version, const DeviceBackend& backend, const ladder::Problem& at, Use use) {
    if (version != KernelVersion::cublas_gather) return ladder::with_version(version, backend, at, use);
    Cublas cublas;
    use(ladder::CublasGather(backend, at, [&](const BatchedProducts<float>& all) { cublas.multiply(all); }));
}

}  // namespace

Tensor<float> launch(KernelVersion version, const FusedInput& input, const RelativeBuckets& buckets) {
    ladder::check_input(input, buckets);
    if (version == KernelVersion::fused) return fused_attention(input, buckets, FusedPrecision::f32).context;
    const DeviceBackend backend;
    return ladder::launch_with(backend, input, buckets, [&](const ladder::Problem& at, float* context) {
        with_any_version(version, backend, at, [&](auto&& steps) { steps.run(context); });
    });
}

double time_version(KernelVersion version, const FusedInput& input, const RelativeBuckets& buckets, int rounds) {
    ladder::check_input(input, buckets);
    const DeviceBackend backend;
    const ladder::Problems<DeviceBackend> problem(backend, input, buckets);
    auto context = backend.allocate<float>(static_cast<std::size_t>(input.q.size()));
    double median = 0;
    with_any_version(version, backend, problem.at(), [&](auto&& steps) {
        for (int round = 0; round < 3; ++round) steps.run(context.data());
        median = median_milliseconds(rounds, [&] { steps.run(context.data()); });
    });
    return median;
}

}  // namespace locus::cuda
