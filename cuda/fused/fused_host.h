#pragma once
// Around the fused kernels on the host side: their launch on memory of the device, copies of host tensors, and the
// memory of the backward pass.  What fused.h and the benchmarks share.
#include <string>

#include "cuda/device.h"
#include "cuda/fused/arguments.h"
#include "cuda/fused/checked_input.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/half_types.h"

namespace locus::cuda {

/// Starts the kernel for a width and a number of table rows on this device, and does not wait.  stream: a
/// cudaStream_t, or nullptr.  Scalar: float, Half, Bfloat16.
/// Throws Error(unsupported) if the width is no multiple of 8 up to 256, the named kernel does not serve, or a call
/// fails.
template <class Scalar>
void launch_fused_forward(const ForwardArguments<Scalar>& args, int width, void* stream = nullptr,
                          FusedPath path = FusedPath::fastest);

/// Which kernel it would be, and its tile: "Hopper, tile 128 x 64", for people.
template <class Scalar>
std::string fused_forward_choice(const ForwardArguments<Scalar>& args, int width, FusedPath path = FusedPath::fastest);

/// All kernels of the backward pass, one after the other; `reached`, `columns` and the memory between the kernels are
/// the caller's to fill in.  The same bits on every run.
template <class Scalar>
void launch_fused_backward(const BackwardArguments<Scalar>& args, int width, void* stream = nullptr,
                           FusedPath path = FusedPath::fastest);

/// How the scores' gradients are computed: around queries, and around keys.
template <class Scalar>
std::string fused_backward_choice(const BackwardArguments<Scalar>& args, int width,
                                  FusedPath path = FusedPath::fastest);

template <class Scalar>
DeviceBuffer<Scalar> upload(const Tensor<float>& tensor) {
    std::vector<Scalar> rounded(static_cast<std::size_t>(tensor.size()));
    for (std::size_t n = 0; n < rounded.size(); ++n) rounded[n] = from_float<Scalar>(tensor.data()[n]);
    return {rounded.data(), rounded.size()};
}

/// [samples or 1, H, tokens, d] as it lies.
template <class Any, class Buffer>
Rows<Any> rows_of(Buffer& buffer, const Shape& shape) {
    const long long row = shape[3], head = shape[2] * row;
    return {buffer.data(), shape[0] > 1 ? shape[1] * head : 0, head, row};
}

/// What both directions are given, on the device.
template <class Scalar>
class DeviceInput {
public:
    /// Throws Error(usage) that names what does not fit.
    DeviceInput(const FusedInput& input, const RelativeBuckets& buckets)
        : sizes_(checked(input, buckets)),
          q_(upload<Scalar>(input.q)),
          k_(upload<Scalar>(input.k)),
          v_(upload<Scalar>(input.v)),
          k_r_(upload<Scalar>(input.k_r)),
          q_r_(upload<Scalar>(input.q_r)),
          rows_(buckets.rows().begin(), buckets.rows().end()),
          device_rows_(rows_.data(), rows_.size()),
          visible_(input.visible_keys.data(), static_cast<std::size_t>(input.visible_keys.size())),
          starts_(starts_of(input)),
          device_starts_(starts_.data(), starts_.size()) {}

    const FusedSizes& sizes() const { return sizes_; }

    /// All but context and log_sum.
    ForwardArguments<Scalar> arguments(const FusedInput& input) const {
        ForwardArguments<Scalar> args;
        args.q = rows_of<const Scalar>(q_, input.q.shape());
        args.k = rows_of<const Scalar>(k_, input.k.shape());
        args.v = rows_of<const Scalar>(v_, input.v.shape());
        if (input.k_r.size() > 0) args.k_r = k_r_.data();
        if (input.q_r.size() > 0) args.q_r = q_r_.data();
        args.buckets = bucket_rows(rows_, device_rows_.data(), static_cast<int>(sizes_.keys) - 1);
        args.table_rows = static_cast<int>(sizes_.table);
        if (input.visible_keys.size() > 0) args.visible_keys = visible_.data();
        if (!input.lengths.empty()) {
            args.first_query = args.first_key = device_starts_.data();
            args.all_queries = args.all_keys = starts_.back();
        }
        args.batch = static_cast<int>(sizes_.batch);
        args.heads = static_cast<int>(sizes_.heads);
        args.queries = static_cast<int>(sizes_.queries);
        args.keys = static_cast<int>(sizes_.keys);
        args.scale = input.scale;
        args.dropout = input.dropout;
        args.seed = input.seed;
        return args;
    }

private:
    static std::vector<int> starts_of(const FusedInput& input) {
        std::vector<int> starts = {0};
        for (const Index length : input.lengths) starts.push_back(starts.back() + static_cast<int>(length));
        return starts;
    }

    FusedSizes sizes_;
    DeviceBuffer<Scalar> q_, k_, v_, k_r_, q_r_;
    std::vector<std::uint16_t> rows_;
    DeviceBuffer<std::uint16_t> device_rows_;
    DeviceBuffer<std::uint8_t> visible_;
    std::vector<int> starts_;
    DeviceBuffer<int> device_starts_;
};

template <class Scalar>
void download(const DeviceBuffer<Scalar>& from, Tensor<float>& to) {
    std::vector<Scalar> found(static_cast<std::size_t>(to.size()));
    from.copy_to(found.data());
    for (std::size_t n = 0; n < found.size(); ++n) to.data()[n] = to_float(found[n]);
}

/// What the backward kernels need on the device beside their inputs, and the copies of their results to the host.
template <class Scalar>
class DeviceBackward {
public:
    /// d_context shaped like q.  What `forward` holds must outlive this.
    DeviceBackward(const FusedInput& input, const FusedSizes& sizes, const ForwardArguments<Scalar>& forward,
                   const RelativeBuckets& buckets, const Tensor<float>& d_context)
        : found_{like(input.q), like(input.k), like(input.v), like(input.k_r), like(input.q_r)},
          d_context_(upload<Scalar>(d_context)),
          d_q_(count(found_.q)),
          d_k_(count(found_.k)),
          d_v_(count(found_.v)),
          d_k_r_(count(found_.k_r)),
          d_q_r_(count(found_.q_r)),
          delta_(static_cast<std::size_t>(sizes.batch * sizes.heads * sizes.queries)),
          reached_{static_cast<int>(buckets.rows().front()),
                   static_cast<int>(buckets.rows().back() - buckets.rows().front()) + 1},
          columns_(BackwardArguments<Scalar>::columns_of(reached_)),
          by_query_(forward.k_r ? static_cast<std::size_t>(element_count(table_shape(found_.q))) : 0),
          by_key_(forward.q_r ? static_cast<std::size_t>(element_count(table_shape(found_.k))) : 0) {
        args_.forward = forward;
        args_.d_context = rows_of<const Scalar>(d_context_, found_.q.shape());
        args_.d_q = rows_of<Scalar>(d_q_, found_.q.shape());
        args_.d_k = rows_of<Scalar>(d_k_, found_.k.shape());
        args_.d_v = rows_of<Scalar>(d_v_, found_.v.shape());
        args_.delta = delta_.data();
        args_.reached = reached_;
        args_.columns = columns_;
        if (forward.k_r) args_.d_k_r = d_k_r_.data();
        if (forward.q_r) args_.d_q_r = d_q_r_.data();
        args_.by_query = rows_of<Scalar>(by_query_, table_shape(found_.q));
        args_.by_key = rows_of<Scalar>(by_key_, table_shape(found_.k));
    }

    const BackwardArguments<Scalar>& arguments() const { return args_; }

    /// Of a term that is off: empty.
    FusedGradients gradients() const {
        FusedGradients found = found_;
        download(d_q_, found.q);
        download(d_k_, found.k);
        download(d_v_, found.v);
        download(d_k_r_, found.k_r);
        download(d_q_r_, found.q_r);
        return found;
    }

private:
    static Tensor<float> like(const Tensor<float>& tensor) {
        return tensor.size() > 0 ? Tensor<float>(tensor.shape()) : Tensor<float>();
    }
    static std::size_t count(const Tensor<float>& tensor) { return static_cast<std::size_t>(tensor.size()); }
    Shape table_shape(const Tensor<float>& tokens) const {
        return {tokens.extent(0), tokens.extent(1), tokens.extent(2), columns_};
    }

    FusedGradients found_;  // shapes alone
    DeviceBuffer<Scalar> d_context_, d_q_, d_k_, d_v_;
    DeviceBuffer<float> d_k_r_, d_q_r_, delta_;
    RowRange reached_;
    int columns_;
    DeviceBuffer<Scalar> by_query_, by_key_;
    BackwardArguments<Scalar> args_;
};

}  // namespace locus::cuda
