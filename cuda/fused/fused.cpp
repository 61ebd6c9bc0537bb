// Host tensors onto the device and back, around the fused kernels.
#include "cuda/fused/fused.h"

#include "cuda/device.h"
#include "cuda/fused/fused_host.h"

namespace locus::cuda {

namespace {

template <class Scalar>
FusedOutput run(const FusedInput& input, const RelativeBuckets& buckets, FusedPath path) {
    const DeviceInput<Scalar> device(input, buckets);
    const FusedSizes& sizes = device.sizes();
    FusedOutput output{Tensor<float>(input.q.shape()), Tensor<float>({sizes.batch, sizes.heads, sizes.queries})};
    // Packed samples that are shorter than the longest leave places that no thread writes.
    std::fill(output.log_sum.data(), output.log_sum.data() + output.log_sum.size(), 0.0f);
    DeviceBuffer<Scalar> context(static_cast<std::size_t>(output.context.size()));
    DeviceBuffer<float> log_sum(output.log_sum.data(), static_cast<std::size_t>(output.log_sum.size()));

    ForwardArguments<Scalar> args = device.arguments(input);
    args.context = rows_of<Scalar>(context, input.q.shape());
    args.log_sum = log_sum.data();
    launch_fused_forward(args, static_cast<int>(sizes.width), nullptr, path);
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());

    download(context, output.context);
    log_sum.copy_to(output.log_sum.data());
    return output;
}

}  // namespace

FusedOutput fused_attention(const FusedInput& input, const RelativeBuckets& buckets, FusedPrecision precision,
                            FusedPath path) {
    check_options(input, buckets);
    switch (precision) {
        case FusedPrecision::f16:
            return run<Half>(input, buckets, path);
        case FusedPrecision::bf16:
            return run<Bfloat16>(input, buckets, path);
        default:
            return run<float>(input, buckets, path);
    }
}

// Host tensors onto the device and back, around the fused backward kernels.

namespace {

template <class Scalar>
FusedGradients run(const FusedInput& input, const FusedOutput& output, const Tensor<float>& d_context,
                   const RelativeBuckets& buckets, FusedPath path) {
    const FusedSizes sizes = checked(input, buckets);
    check_shape("the context", output.context, input.q.shape());
    check_shape("log_sum", output.log_sum, {sizes.batch, sizes.heads, sizes.queries});
    check_shape("the gradient of the context", d_context, input.q.shape());
    const DeviceInput<Scalar> device(input, buckets);
    auto context = upload<Scalar>(output.context);
    DeviceBuffer<float> log_sum(output.log_sum.data(), static_cast<std::size_t>(output.log_sum.size()));
    ForwardArguments<Scalar> forward = device.arguments(input);
    forward.context = rows_of<Scalar>(context, input.q.shape());
    forward.log_sum = log_sum.data();
    const DeviceBackward<Scalar> backward(input, sizes, forward, buckets, d_context);
    launch_fused_backward(backward.arguments(), static_cast<int>(sizes.width), nullptr, path);
    LOCUS_CUDA_CHECK(cudaDeviceSynchronize());
    return backward.gradients();
}

}  // namespace

FusedGradients fused_attention_backward(const FusedInput& input, const FusedOutput& output,
                                        const Tensor<float>& d_context, const RelativeBuckets& buckets,
                                        FusedPrecision precision, FusedPath path) {
    check_options(input, buckets);
    switch (precision) {
        case FusedPrecision::f16:
            return run<Half>(input, output, d_context, buckets, path);
        case FusedPrecision::bf16:
            return run<Bfloat16>(input, output, d_context, buckets, path);
        default:
            return run<float>(input, output, d_context, buckets, path);
    }
}

}  // namespace locus::cuda
