#include "cuda/fused_timing.h"

#include <algorithm>
#include <cmath>

#include "cuda/device.h"
#include "cuda/dropout.h"
#include "cuda/event.h"
#include "cuda/fused_launch.h"
#include "cuda/short_float.h"

namespace locus::cuda {

namespace {

/// Numbers around zero with variance 1, a function of their place.
template <class Scalar>
__global__ void fill_kernel(Scalar* values, long long count, std::uint32_t key) {
    const long long n = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
    if (n >= count) return;
    const TwoNumbers random = philox({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32)}, key);
    values[n] = from_float<Scalar>(3.4641016f * (static_cast<float>(random.first >> 8) * 0x1p-24f - 0.5f));
}

template <class Scalar>
void fill(DeviceBuffer<Scalar>& buffer, long long count, std::uint32_t key) {
    fill_kernel<<<static_cast<unsigned>((count + 255) / 256), 256>>>(buffer.data(), count, key);
    LOCUS_CUDA_CHECK(cudaGetLastError());
}

std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    LOCUS_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return free;
}

BucketLine line_of(const TimedShape& shape) {
    return shape.max_position > 0 ? BucketLine::logarithmic(shape.tokens, shape.tokens, shape.buckets,
                                                            shape.max_position, OffsetClamp::official)
                                  : BucketLine::clamped(shape.tokens, shape.tokens, shape.buckets);
}

template <class Scalar>
TimedKernel time(const TimedShape& shape, int rounds) {
    const long long row = shape.width, head = row * shape.tokens, sample = head * shape.heads;
    const long long numbers = sample * shape.batch, table = 2LL * shape.buckets * shape.heads * shape.width;
    const auto count = static_cast<std::size_t>(numbers);
    DeviceBuffer<Scalar> q(count), k(count), v(count), context(count);
    DeviceBuffer<Scalar> k_r(static_cast<std::size_t>(table)), q_r(static_cast<std::size_t>(table));
    fill(q, numbers, 1);
    fill(k, numbers, 2);
    fill(v, numbers, 3);
    fill(k_r, table, 4);
    fill(q_r, table, 5);
    const BucketLine line = line_of(shape);
    const std::vector<std::uint16_t> rows(line.rows().begin(), line.rows().end());
    const DeviceBuffer<std::uint16_t> device_rows(rows.data(), rows.size());

    ForwardArguments<Scalar> args;
    args.q = {q.data(), sample, head, row};
    args.k = {k.data(), sample, head, row};
    args.v = {v.data(), sample, head, row};
    args.context = {context.data(), sample, head, row};
    args.k_r = k_r.data();
    args.q_r = q_r.data();
    args.line = {device_rows.data(), shape.tokens - 1};
    args.table_rows = 2 * shape.buckets;
    args.batch = shape.batch;
    args.heads = shape.heads;
    args.queries = args.keys = shape.tokens;
    args.scale = 1 / std::sqrt(3.0f * static_cast<float>(shape.width));

    const std::size_t before = free_memory();
    for (int round = 0; round < 5; ++round) launch_fused_forward(args, shape.width);
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());
    TimedKernel timed;
    timed.extra_bytes = before - std::min(before, free_memory());
    timed.choice = fused_forward_choice(args, shape.width);
    const std::vector<double> times = times_of(rounds, [&] { launch_fused_forward(args, shape.width); });
    timed.milliseconds = times[times.size() / 2];
    timed.fastest = times.front();
    timed.slowest = times.back();
    return timed;
}

}  // namespace

TimedKernel time_fused_forward(const TimedShape& shape, FusedPrecision precision, int rounds) {
    switch (precision) {
        case FusedPrecision::f16:
            return time<Half>(shape, rounds);
        case FusedPrecision::bf16:
            return time<Bfloat16>(shape, rounds);
        default:
            return time<float>(shape, rounds);
    }
}

double device_bandwidth() {
    constexpr std::size_t kBytes = std::size_t{1} << 30;
    DeviceBuffer<unsigned char> from(kBytes), to(kBytes);
    LOCUS_CUDA_CHECK(cudaMemset(from.data(), 1, kBytes));
    const double milliseconds = median_milliseconds(
        10, [&] { LOCUS_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice)); });
    return 2.0 * static_cast<double>(kBytes) / (milliseconds * 1e-3);
}

}  // namespace locus::cuda
