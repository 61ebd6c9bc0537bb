// Host tensors onto the device and back, around the fused backward kernels.
#include "cuda/device.h"
#include "cuda/fused_host.h"

namespace locus::cuda {

namespace {

template <class Scalar>
FusedGradients run(const FusedInput& input, const FusedOutput& output, const Tensor<float>& d_context,
                   const BucketLine& line) {
    const FusedSizes sizes = checked(input, line);
    check_shape("the context", output.context, input.q.shape());
    check_shape("log_sum", output.log_sum, {sizes.batch, sizes.heads, sizes.queries});
    check_shape("the gradient of the context", d_context, input.q.shape());
    const DeviceInput<Scalar> device(input, line);
    auto context = upload<Scalar>(output.context);
    const auto device_d_context = upload<Scalar>(d_context);
    DeviceBuffer<float> log_sum(output.log_sum.data(), static_cast<std::size_t>(output.log_sum.size()));
    FusedGradients found{Tensor<float>(input.q.shape()), Tensor<float>(input.k.shape()), Tensor<float>(input.v.shape()),
                         Tensor<float>(input.k_r.shape()), Tensor<float>(input.q_r.shape())};
    const auto count = [](const Tensor<float>& tensor) { return static_cast<std::size_t>(tensor.size()); };
    DeviceBuffer<Scalar> d_q(count(found.q)), d_k(count(found.k)), d_v(count(found.v));
    DeviceBuffer<float> d_k_r(count(found.k_r)), d_q_r(count(found.q_r)), delta(count(output.log_sum));

    BackwardArguments<Scalar> args;
    args.forward = device.arguments(input);
    args.forward.context = rows_of<Scalar>(context, input.q.shape());
    args.forward.log_sum = log_sum.data();
    args.d_context = rows_of<const Scalar>(device_d_context, input.q.shape());
    args.d_q = rows_of<Scalar>(d_q, input.q.shape());
    args.d_k = rows_of<Scalar>(d_k, input.k.shape());
    args.d_v = rows_of<Scalar>(d_v, input.v.shape());
    args.delta = delta.data();
    args.reached = {static_cast<int>(line.rows().front()),
                    static_cast<int>(line.rows().back() - line.rows().front()) + 1};
    args.columns = BackwardArguments<Scalar>::columns_of(args.reached);
    const auto table_shape = [&](const Tensor<float>& tokens) {
        return Shape{tokens.extent(0), tokens.extent(1), tokens.extent(2), args.columns};
    };
    const auto numbers = [&](const Tensor<float>& tokens, const float* gradient) {
        return gradient ? count(tokens) / static_cast<std::size_t>(sizes.width) * static_cast<std::size_t>(args.columns)
                        : 0;
    };
    if (input.k_r.size() > 0) args.d_k_r = d_k_r.data();
    if (input.q_r.size() > 0) args.d_q_r = d_q_r.data();
    DeviceBuffer<Scalar> by_query(numbers(input.q, args.d_k_r)), by_key(numbers(input.k, args.d_q_r));
    args.by_query = rows_of<Scalar>(by_query, table_shape(input.q));
    args.by_key = rows_of<Scalar>(by_key, table_shape(input.k));
    launch_fused_backward(args, static_cast<int>(sizes.width));
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());

    download(d_q, found.q);
    download(d_k, found.k);
    download(d_v, found.v);
    download(d_k_r, found.k_r);
    download(d_q_r, found.q_r);
    return found;
}

}  // namespace

FusedGradients fused_attention_backward(const FusedInput& input, const FusedOutput& output,
                                        const Tensor<float>& d_context, const BucketLine& line,
                                        FusedPrecision precision) {
    check_options(input, line);
    switch (precision) {
        case FusedPrecision::f16:
            return run<Half>(input, output, d_context, line);
        case FusedPrecision::bf16:
            return run<Bfloat16>(input, output, d_context, line);
        default:
            return run<float>(input, output, d_context, line);
    }
}

}  // namespace locus::cuda
