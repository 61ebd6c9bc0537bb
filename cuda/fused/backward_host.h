#pragma once
// What the fused backward kernels need on the device beside their inputs, and the way back; only .cu files include
// this.
#include "cuda/fused/fused_host.h"

namespace locus::cuda {

template <class Scalar>
class DeviceBackward {
public:
    /// d_context shaped like q.  What `forward` holds must outlive this.
    DeviceBackward(const FusedInput& input, const FusedSizes& sizes, const ForwardArguments<Scalar>& forward,
                   const RelativeBuckets& line, const Tensor<float>& d_context)
        : found_{like(input.q), like(input.k), like(input.v), like(input.k_r), like(input.q_r)},
          d_context_(upload<Scalar>(d_context)),
          d_q_(count(found_.q)),
          d_k_(count(found_.k)),
          d_v_(count(found_.v)),
          d_k_r_(count(found_.k_r)),
          d_q_r_(count(found_.q_r)),
          delta_(static_cast<std::size_t>(sizes.batch * sizes.heads * sizes.queries)),
          reached_{static_cast<int>(line.rows().front()),
                   static_cast<int>(line.rows().back() - line.rows().front()) + 1},
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
