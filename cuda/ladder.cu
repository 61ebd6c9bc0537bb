#include <algorithm>

#include "cuda/device_place.h"
#include "cuda/event.h"
#include "cuda/ladder/steps.h"

namespace locus::cuda {

Tensor<float> climb(Rung rung, const FusedInput& input, const BucketLine& line) {
    ladder::check_input(input);
    if (rung == Rung::fused) return fused_attention(input, line, FusedPrecision::f32).context;
    return ladder::climb(rung, Device(), input, line);
}

double time_rung(Rung rung, const FusedInput& input, const BucketLine& line, int rounds) {
    ladder::check_input(input);
    const Device place;
    const ladder::Problems<Device> problem(place, input, line);
    auto context = place.room<float>(static_cast<std::size_t>(input.q.size()));
    double median = 0;
    ladder::with_rung(rung, place, problem.at(), [&](auto&& steps) {
        for (int round = 0; round < 3; ++round) steps.run(context.data());
        median = median_milliseconds(rounds, [&] { steps.run(context.data()); });
    });
    return median;
}

}  // namespace locus::cuda
