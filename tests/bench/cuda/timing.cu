#include "tests/bench/cuda/timing.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "cuda/captured_graph.h"
#include "cuda/device.h"
#include "cuda/fused/dropout.h"
#include "cuda/fused/fused_host.h"
#include "cuda/fused/half_types.h"

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

RelativeBuckets buckets_of(const TimedShape& shape) {
    return shape.max_position > 0 ? RelativeBuckets::logarithmic(shape.tokens, shape.tokens, shape.buckets,
                                                                 shape.max_position, OffsetClamp::official)
                                  : RelativeBuckets::clamped(shape.tokens, shape.tokens, shape.buckets);
}

/// Random inputs of a shape, on the device.
template <class Scalar>
struct TimedInput {
    long long row, head, sample, numbers, table;
    DeviceBuffer<Scalar> q, k, v, context, k_r, q_r;
    std::vector<std::uint16_t> rows;
    DeviceBuffer<std::uint16_t> device_rows;
    ForwardArguments<Scalar> args;

    explicit TimedInput(const TimedShape& shape)
        : row(shape.width),
          head(row * shape.tokens),
          sample(head * shape.heads),
          numbers(sample * shape.batch),
          table(2LL * shape.buckets * shape.heads * shape.width),
          q(count()),
          k(count()),
          v(count()),
          context(count()),
          k_r(static_cast<std::size_t>(table)),
          q_r(static_cast<std::size_t>(table)),
          rows(rows_of(buckets_of(shape))),
          device_rows(rows.data(), rows.size()) {
        fill(q, numbers, 1);
        fill(k, numbers, 2);
        fill(v, numbers, 3);
        fill(k_r, table, 4);
        fill(q_r, table, 5);
        args.q = tokens<const Scalar>(q.data());
        args.k = tokens<const Scalar>(k.data());
        args.v = tokens<const Scalar>(v.data());
        args.context = tokens<Scalar>(context.data());
        args.k_r = k_r.data();
        args.q_r = q_r.data();
        args.buckets = bucket_rows(rows, device_rows.data(), shape.tokens - 1);
        args.table_rows = 2 * shape.buckets;
        args.batch = shape.batch;
        args.heads = shape.heads;
        args.queries = args.keys = shape.tokens;
        args.scale = 1 / std::sqrt(3.0f * static_cast<float>(shape.width));
    }
    std::size_t count() const { return static_cast<std::size_t>(numbers); }
    template <class Any>
    Rows<Any> tokens(Any* data) const {
        return {data, sample, head, row};
    }
    static std::vector<std::uint16_t> rows_of(const RelativeBuckets& buckets) {
        return {buckets.rows().begin(), buckets.rows().end()};
    }
};

/// A stream that can be recorded, which the default one cannot.
class OwnStream {
public:
    OwnStream() { LOCUS_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~OwnStream() { cudaStreamDestroy(stream_); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    cudaStream_t get() const { return stream_; }

private:
    cudaStream_t stream_ = nullptr;
};

/// Some launches to warm up, then the measured ones; then the same through a graph.   launch(stream).
template <class Launch>
void measure(TimedKernel& timed, int rounds, Launch launch) {
    const std::size_t before = free_memory();
    for (int round = 0; round < 5; ++round) launch(nullptr);
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());
    timed.extra_bytes += before - std::min(before, free_memory());
    const std::vector<double> times = times_of(rounds, [&] { launch(nullptr); });
    timed.milliseconds = times[times.size() / 2];
    timed.fastest = times.front();
    timed.slowest = times.back();
    const OwnStream stream;
    const CapturedGraph graph(stream.get(), [&] { launch(stream.get()); });
    graph.launch();
    const std::vector<double> replays = times_of(
        rounds, [&] { graph.launch(); }, stream.get());
    timed.in_a_graph = replays[replays.size() / 2];
}

template <class Scalar>
TimedKernel time_forward(const TimedShape& shape, int rounds, FusedPath path) {
    const TimedInput<Scalar> input(shape);
    TimedKernel timed;
    timed.choice = fused_forward_choice(input.args, shape.width, path);
    measure(timed, rounds, [&](cudaStream_t stream) { launch_fused_forward(input.args, shape.width, stream, path); });
    return timed;
}

template <class Scalar>
TimedKernel time_backward(const TimedShape& shape, int rounds, FusedPath path) {
    TimedInput<Scalar> input(shape);
    const long long of_queries = static_cast<long long>(shape.batch) * shape.heads * shape.tokens;
    DeviceBuffer<float> log_sum(static_cast<std::size_t>(of_queries)), delta(static_cast<std::size_t>(of_queries));
    DeviceBuffer<Scalar> d_context(input.count()), d_q(input.count()), d_k(input.count()), d_v(input.count());
    DeviceBuffer<float> d_k_r(static_cast<std::size_t>(input.table)), d_q_r(static_cast<std::size_t>(input.table));
    fill(d_context, input.numbers, 6);
    input.args.log_sum = log_sum.data();
    launch_fused_forward(input.args, shape.width);

    BackwardArguments<Scalar> args;
    args.forward = input.args;
    args.d_context = input.template tokens<const Scalar>(d_context.data());
    args.d_q = input.template tokens<Scalar>(d_q.data());
    args.d_k = input.template tokens<Scalar>(d_k.data());
    args.d_v = input.template tokens<Scalar>(d_v.data());
    args.d_k_r = d_k_r.data();
    args.d_q_r = d_q_r.data();
    args.delta = delta.data();
    args.reached = {input.rows.front(), input.rows.back() - input.rows.front() + 1};
    args.columns = BackwardArguments<Scalar>::columns_of(args.reached);
    const long long row = args.columns, head = row * shape.tokens, sample = head * shape.heads;
    const auto numbers = static_cast<std::size_t>(sample * shape.batch);
    DeviceBuffer<Scalar> by_query(numbers), by_key(numbers);
    args.by_query = {by_query.data(), sample, head, row};
    args.by_key = {by_key.data(), sample, head, row};

    TimedKernel timed;
    timed.extra_bytes = 2 * numbers * sizeof(Scalar) + static_cast<std::size_t>(of_queries) * sizeof(float);
    timed.choice = fused_backward_choice(args, shape.width, path);
    measure(timed, rounds, [&](cudaStream_t stream) { launch_fused_backward(args, shape.width, stream, path); });
    return timed;
}

}  // namespace

TimedKernel time_fused_forward(const TimedShape& shape, FusedPrecision precision, int rounds, FusedPath path) {
    switch (precision) {
        case FusedPrecision::f16:
            return time_forward<Half>(shape, rounds, path);
        case FusedPrecision::bf16:
            return time_forward<Bfloat16>(shape, rounds, path);
        default:
            return time_forward<float>(shape, rounds, path);
    }
}

TimedKernel time_fused_backward(const TimedShape& shape, FusedPrecision precision, int rounds, FusedPath path) {
    switch (precision) {
        case FusedPrecision::f16:
            return time_backward<Half>(shape, rounds, path);
        case FusedPrecision::bf16:
            return time_backward<Bfloat16>(shape, rounds, path);
        default:
            return time_backward<float>(shape, rounds, path);
    }
}

DeviceAttributes device_attributes() {
    cudaDeviceProp properties;
    LOCUS_CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    const auto attribute = [](cudaDeviceAttr which) {
        int value = 0;
        LOCUS_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, 0));
        return value;
    };
    return {properties.name,
            properties.major,
            properties.minor,
            properties.multiProcessorCount,
            1e3 * attribute(cudaDevAttrClockRate),
            1e3 * attribute(cudaDevAttrMemoryClockRate),
            attribute(cudaDevAttrGlobalMemoryBusWidth)};
}

bool device_works() { return cudaDeviceSynchronize() == cudaSuccess; }

double device_bandwidth() {
    constexpr std::size_t kBytes = std::size_t{1} << 30;
    DeviceBuffer<unsigned char> from(kBytes), to(kBytes);
    LOCUS_CUDA_CHECK(cudaMemset(from.data(), 1, kBytes));
    const double milliseconds = median_milliseconds(
        10, [&] { LOCUS_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice)); });
    return 2.0 * static_cast<double>(kBytes) / (milliseconds * 1e-3);
}

struct TimedProblem::OnDevice {
    virtual ~OnDevice() = default;
    virtual double forward() = 0;
    virtual double backward() = 0;
    virtual Tensor<float> context() const = 0;
    virtual FusedGradients gradients() const = 0;
    virtual std::string forward_choice() const = 0;
    virtual std::string backward_choice() const = 0;
};

namespace {

template <class Scalar>
class Problem : public TimedProblem::OnDevice {
public:
    Problem(const FusedInput& input, const RelativeBuckets& buckets, const Tensor<float>& d_context)
        : device_(input, buckets),
          width_(static_cast<int>(device_.sizes().width)),
          context_shape_(input.q.shape()),
          context_(static_cast<std::size_t>(input.q.size())),
          log_sum_(static_cast<std::size_t>(device_.sizes().batch * device_.sizes().heads * device_.sizes().queries)),
          args_(device_.arguments(input)) {
        args_.context = rows_of<Scalar>(context_, context_shape_);
        if (d_context.size() == 0) return;
        check_shape("the gradient of the context", d_context, context_shape_);
        args_.log_sum = log_sum_.data();  // which forward alone does not need
        backward_.emplace(input, device_.sizes(), args_, buckets, d_context);
    }

    double forward() override {
        return replay(forward_graph_, [&](cudaStream_t stream) { launch_fused_forward(args_, width_, stream); });
    }
    double backward() override {
        return replay(backward_graph_,
                      [&](cudaStream_t stream) { launch_fused_backward(whole().arguments(), width_, stream); });
    }
    Tensor<float> context() const override {
        Tensor<float> found(context_shape_);
        download(context_, found);
        return found;
    }
    FusedGradients gradients() const override { return whole().gradients(); }
    std::string forward_choice() const override { return fused_forward_choice(args_, width_); }
    std::string backward_choice() const override { return fused_backward_choice(whole().arguments(), width_); }

private:
    /// What a first launch loads or sets up cannot be recorded, so it is launched once before.
    template <class Launch>
    double replay(std::optional<CapturedGraph>& graph, Launch launch) {
        if (!graph) {
            LOCUS_CUDA_CHECK(cudaDeviceSynchronize());  // uploads have taken another stream
            launch(stream_.get());
            LOCUS_CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
            graph.emplace(stream_.get(), [&] { launch(stream_.get()); });
        }
        return times_of(
                   1, [&] { graph->launch(); }, stream_.get())
            .front();
    }
    const DeviceBackward<Scalar>& whole() const {
        LOCUS_CHECK(backward_.has_value(), "TimedProblem: backward needs the gradient of the context");
        return *backward_;
    }

    DeviceInput<Scalar> device_;
    int width_;
    Shape context_shape_;
    DeviceBuffer<Scalar> context_;
    DeviceBuffer<float> log_sum_;
    ForwardArguments<Scalar> args_;
    std::optional<DeviceBackward<Scalar>> backward_;
    const OwnStream stream_;
    std::optional<CapturedGraph> forward_graph_, backward_graph_;
};

}  // namespace

TimedProblem::TimedProblem(const FusedInput& input, const RelativeBuckets& buckets, FusedPrecision precision,
                           const Tensor<float>& d_context) {
    check_options(input, buckets);
    switch (precision) {
        case FusedPrecision::f16:
            device_ = std::make_unique<Problem<Half>>(input, buckets, d_context);
            break;
        case FusedPrecision::bf16:
            device_ = std::make_unique<Problem<Bfloat16>>(input, buckets, d_context);
            break;
        default:
            device_ = std::make_unique<Problem<float>>(input, buckets, d_context);
    }
}

TimedProblem::~TimedProblem() = default;
double TimedProblem::forward() { return device_->forward(); }
double TimedProblem::backward() { return device_->backward(); }
Tensor<float> TimedProblem::context() const { return device_->context(); }
FusedGradients TimedProblem::gradients() const { return device_->gradients(); }
std::string TimedProblem::forward_choice() const { return device_->forward_choice(); }
std::string TimedProblem::backward_choice() const { return device_->backward_choice(); }

}  // namespace locus::cuda
