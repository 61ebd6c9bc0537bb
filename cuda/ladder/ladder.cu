#include <algorithm>

#include "cuda/device_place.h"
#include "cuda/event.h"
#include "cuda/ladder/cublas_gather.h"
#include "cuda/ladder/steps.h"

namespace locus::cuda {

namespace {

/// use(rung), as ladder::with_rung, with cuBLAS for the rung that needs it.
template <class Use>
void with_any_rung(KernelVersion rung, const Device& place, const ladder::Problem& at, Use use) {
    if (rung != KernelVersion::cublas_gather) return ladder::with_rung(rung, place, at, use);
    Cublas cublas;
    use(ladder::CublasGather(place, at, [&](const SheetProducts<float>& all) { cublas.multiply(all); }));
}

}  // namespace

Tensor<float> climb(KernelVersion rung, const FusedInput& input, const RelativeBuckets& line) {
    ladder::check_input(input);
    if (rung == KernelVersion::fused) return fused_attention(input, line, FusedPrecision::f32).context;
    const Device place;
    return ladder::climb_with(place, input, line, [&](const ladder::Problem& at, float* context) {
        with_any_rung(rung, place, at, [&](auto&& steps) { steps.run(context); });
    });
}

double time_rung(KernelVersion rung, const FusedInput& input, const RelativeBuckets& line, int rounds) {
    ladder::check_input(input);
    const Device place;
    const ladder::Problems<Device> problem(place, input, line);
    auto context = place.room<float>(static_cast<std::size_t>(input.q.size()));
    double median = 0;
    with_any_rung(rung, place, problem.at(), [&](auto&& steps) {
        for (int round = 0; round < 3; ++round) steps.run(context.data());
        median = median_milliseconds(rounds, [&] { steps.run(context.data()); });
    });
    return median;
}

}  // namespace locus::cuda
