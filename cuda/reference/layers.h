#pragma once
// The GPU twins of core/models/layers.h.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/models/layers.h"

namespace locus::cuda {

/// x [N,in] -> [N,out].
template <class Scalar>
Matrix<Scalar> dense(const Matrix<Scalar>& x, const Dense<Scalar>& layer);

/// (x - mean) / sqrt(variance + eps) * weight + bias per row.  x [N,D] -> [N,D].
template <class Scalar>
Matrix<Scalar> layer_norm(const Matrix<Scalar>& x, const Norm<Scalar>& norm, double eps);

/// Element by element, same shape.
template <class Scalar>
Matrix<Scalar> activate(const Matrix<Scalar>& x, Activation activation);

/// Cross-correlation over the rows of x, zeros beyond both ends: x [T,in] -> [T,out].
template <class Scalar>
Matrix<Scalar> convolve(const Matrix<Scalar>& x, const Convolution<Scalar>& layer);

}  // namespace locus::cuda
