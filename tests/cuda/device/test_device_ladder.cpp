// Every version of the ladder on a device; none is timed before it is right.
#include "cuda/encoder/cublas.h"
#include "tests/cuda/device/has_device.h"
#include "tests/cuda/ladder_problem.h"

namespace locus::test::test_device_ladder {

using cuda::FusedInput;
using cuda::KernelVersion;

TEST_CASE("cuda: every version of the ladder computes the same context", "[cuda][ladder]") {
    if (!has_device()) return;
    const auto launch = [](KernelVersion version, const FusedInput& input, const RelativeBuckets& buckets) {
        return cuda::launch(version, input, buckets);
    };
    ladder_check([](KernelVersion version) { return version != KernelVersion::cublas_gather; }, launch);
    try {
        cuda::Cublas cublas;
    } catch (const Error& error) {
        std::cout << "skipped: " << error.what() << std::endl;
        return;
    }
    ladder_check([](KernelVersion version) { return version == KernelVersion::cublas_gather; }, launch);
}

}  // namespace locus::test::test_device_ladder
