#pragma once
// The small parts of layers.h backwards.  d_x stands for the gradient of the loss with respect to x; every gradient has
// the shape of what it belongs to.  Spec 9.2; checked against torch's autograd.
#include "core/models/layers.h"

namespace locus {

template <class Scalar>
struct DenseGradients {
    Matrix<Scalar> x, weight;  // [N,in], [out,in]
    RowVector<Scalar> bias;    // [out], empty where the layer has none
};

/// y_no = sum over c of x_nc W_oc + b_o, so d_x_nc = sum over o of d_y_no W_oc and d_W_oc = sum over n of d_y_no x_nc:
/// d_x = d_y W,  d_W = d_y^T x,  d_b = the sum of the rows of d_y.
/// x [N,in], d_y [N,out].  Throws Error(usage) that names what does not fit; so do the others here.
template <class Scalar>
DenseGradients<Scalar> dense_backward(const ConstView<Scalar>& x, const Dense<Scalar>& layer,
                                      const ConstView<Scalar>& d_y);

template <class Scalar>
struct NormGradients {
    Matrix<Scalar> x;                // [N,D]
    RowVector<Scalar> weight, bias;  // [D], empty where the norm has no affine part
};

/// With xhat = (x - mean) rstd, rstd = 1 / sqrt(variance + eps) and g = d_y weight, row by row:
/// d_x = rstd (g - mean(g) - xhat mean(g xhat)),  d_weight = sum of d_y xhat,  d_bias = sum of d_y.
/// The two means are what the row's own mean and variance take back: d_x moves neither (it is orthogonal to 1 and, but
/// for eps, to xhat).  mean and rstd are computed from x again.  x, d_y [N,D].
template <class Scalar>
NormGradients<Scalar> layer_norm_backward(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps,
                                          const ConstView<Scalar>& d_y);

/// d_y times the derivative at x, element by element, with phi the density of the standard normal distribution:
///   gelu       Phi(x) + x phi(x)
///   gelu_tanh  (1 + t) / 2 + x (1 - t^2) u' / 2,  t = tanh(u),  u' = sqrt(2/pi) (1 + 3 * 0.044715 x^2)
///   relu       1 for x > 0, else 0 (at 0 as well: torch's choice)
///   tanh       1 - tanh(x)^2
template <class Scalar>
Matrix<Scalar> activate_backward(const ConstView<Scalar>& x, Activation activation, const ConstView<Scalar>& d_y);

template <class Scalar>
struct ConvolutionGradients {
    Matrix<Scalar> x, weight;  // [T,in], [out, in / groups * kernel] as the file stores it
    RowVector<Scalar> bias;    // [out]
};

/// y_t = b + sum over taps of W_tap x_{t+shift}, shift = tap - (kernel - 1) / 2, so what a tap read it gives back:
/// d_x_{t+shift} += d_y_t W_tap,  d_W_tap = sum over t of d_y_t^T x_{t+shift},  d_b = the sum of the rows of d_y.
/// Rows beyond both ends were zeros and get nothing.  x [T,in], d_y [T,out].
template <class Scalar>
ConvolutionGradients<Scalar> convolve_backward(const ConstView<Scalar>& x, const Convolution<Scalar>& layer,
                                               const ConstView<Scalar>& d_y);

}  // namespace locus
