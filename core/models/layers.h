#pragma once
// The small parts every transformer is made of.
#include "core/models/activation.h"
#include "core/tensor.h"

namespace locus {

/// A dense layer as checkpoints store it: y = x weight^T + bias.
template <class Scalar>
struct Dense {
    Matrix<Scalar> weight;   // [out, in]
    RowVector<Scalar> bias;  // [out], or empty where the layer has none
};

/// The affine part of a layer norm.
template <class Scalar>
struct Norm {
    RowVector<Scalar> weight, bias;  // [D] each; both empty: no affine part
};

/// A convolution along the tokens, "same" padding: weight [out, in / groups * kernel] as the file stores it.
template <class Scalar>
struct Convolution {
    Matrix<Scalar> weight;
    RowVector<Scalar> bias;  // [out]
    Index kernel = 3, groups = 1;
};

/// x [N,in] -> [N,out].  Throws if the widths differ.
template <class Scalar>
Matrix<Scalar> dense(const ConstView<Scalar>& x, const Dense<Scalar>& layer);

/// (x - mean) / sqrt(variance + eps) * weight + bias per row; biased variance, eps inside the root.  x [N,D] -> [N,D].
/// Source: Ba et al. 2016, eq. 4.
template <class Scalar>
Matrix<Scalar> layer_norm(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps);

/// Element by element, same shape.
template <class Scalar>
Matrix<Scalar> activate(const ConstView<Scalar>& x, Activation activation);

/// Cross-correlation over the rows of x, zeros beyond both ends: x [T,in] -> [T,out].
/// Source: PyTorch Conv1d with padding (kernel - 1) / 2.
template <class Scalar>
Matrix<Scalar> convolve(const ConstView<Scalar>& x, const Convolution<Scalar>& layer);

/// [B,T,H*d] -> [B,H,T,d]: head h owns the channels h*d ... h*d + d - 1.  Throws if H does not divide the width.
template <class Scalar>
Tensor<Scalar> split_heads(const Tensor<Scalar>& joined, Index heads);
/// [B,H,T,d] -> [B,T,H*d].
template <class Scalar>
Tensor<Scalar> join_heads(const Tensor<Scalar>& split);

}  // namespace locus
