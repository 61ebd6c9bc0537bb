#include "core/models/layers_backward.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/tensor.h"

namespace locus {

namespace {

template <class Scalar>
Scalar gelu_slope(Scalar v) {
    const Scalar below = Scalar(0.5) * (Scalar(1) + std::erf(v * Scalar(1 / std::numbers::sqrt2)));
    const Scalar density = std::exp(Scalar(-0.5) * v * v) * Scalar(std::sqrt(0.5 / std::numbers::pi));
    return below + v * density;
}

template <class Scalar>
Scalar gelu_tanh_slope(Scalar v) {
    const auto root = Scalar(std::sqrt(2 / std::numbers::pi));
    const Scalar t = std::tanh(root * (v + Scalar(0.044715) * v * v * v));
    const Scalar inner = root * (Scalar(1) + Scalar(3 * 0.044715) * v * v);
    return Scalar(0.5) * (Scalar(1) + t) + Scalar(0.5) * v * (Scalar(1) - t * t) * inner;
}

template <class Scalar>
Scalar slope(Activation activation, Scalar v) {
    switch (activation) {
        case Activation::gelu:
            return gelu_slope(v);
        case Activation::gelu_tanh:
            return gelu_tanh_slope(v);
        case Activation::relu:
            return v > Scalar(0) ? Scalar(1) : Scalar(0);
        case Activation::tanh:
            break;
    }
    const Scalar t = std::tanh(v);
    return Scalar(1) - t * t;
}

}  // namespace

template <class Scalar>
DenseGradients<Scalar> dense_backward(const ConstView<Scalar>& x, const Dense<Scalar>& layer,
                                      const ConstView<Scalar>& d_y) {
    check_shape("dense_backward", "x", x, x.rows(), layer.weight.cols());
    check_shape("dense_backward", "d_y", d_y, x.rows(), layer.weight.rows());
    DenseGradients<Scalar> grad{d_y * layer.weight, d_y.transpose() * x, {}};
    if (layer.bias.size() > 0) grad.bias = d_y.colwise().sum();
    return grad;
}

template <class Scalar>
NormGradients<Scalar> layer_norm_backward(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps,
                                          const ConstView<Scalar>& d_y) {
    const Index width = x.cols();
    const bool affine = norm.weight.size() > 0;
    check_shape("layer_norm_backward", "d_y", d_y, x.rows(), width);
    if (affine) check_shape("layer_norm_backward", "weight", norm.weight, 1, width);
    NormGradients<Scalar> grad{Matrix<Scalar>(x.rows(), width), {}, {}};
    if (affine) grad.weight = grad.bias = RowVector<Scalar>::Zero(width);
    for (Index n = 0; n < x.rows(); ++n) {
        // Rows of their own: Eigen sums in an order that depends on where in memory the first number lies.
        const RowVector<Scalar> row = x.row(n), d_y_n = d_y.row(n);
        const RowVector<Scalar> centred = row.array() - row.mean();
        const Scalar rstd = Scalar(1) / std::sqrt(centred.squaredNorm() / Scalar(width) + Scalar(eps));
        const RowVector<Scalar> xhat = centred * rstd;
        RowVector<Scalar> g = d_y_n;
        if (affine) {
            g.array() *= norm.weight.array();
            grad.weight.array() += d_y_n.array() * xhat.array();
            grad.bias += d_y_n;
        }
        const Scalar level = g.mean(), along = g.dot(xhat) / Scalar(width);
        grad.x.row(n) = rstd * (g.array() - level - xhat.array() * along);
    }
    return grad;
}

template <class Scalar>
Matrix<Scalar> activate_backward(const ConstView<Scalar>& x, Activation activation, const ConstView<Scalar>& d_y) {
    check_shape("activate_backward", "d_y", d_y, x.rows(), x.cols());
    return x.binaryExpr(d_y, [activation](Scalar v, Scalar d) { return d * slope(activation, v); });
}

template <class Scalar>
ConvolutionGradients<Scalar> convolve_backward(const ConstView<Scalar>& x, const Convolution<Scalar>& layer,
                                               const ConstView<Scalar>& d_y) {
    const Index outputs = layer.weight.rows(), inputs = layer.weight.cols() / layer.kernel;
    check_shape("convolve_backward", "x", x, x.rows(), inputs * layer.groups);
    check_shape("convolve_backward", "d_y", d_y, x.rows(), outputs);
    ConvolutionGradients<Scalar> grad{Matrix<Scalar>::Zero(x.rows(), x.cols()),
                                      Matrix<Scalar>::Zero(outputs, layer.weight.cols()), d_y.colwise().sum()};
    const Index per_group = outputs / layer.groups;
    for (Index tap = 0; tap < layer.kernel; ++tap) {
        const Index shift = tap - (layer.kernel - 1) / 2;  // the tap read row t + shift
        const Index first = std::max<Index>(0, -shift), last = std::min(x.rows(), x.rows() - shift);
        if (first >= last) continue;
        Matrix<Scalar> tap_weight(outputs, inputs), tap_gradient(outputs, inputs);
        for (Index in = 0; in < inputs; ++in) tap_weight.col(in) = layer.weight.col(in * layer.kernel + tap);
        for (Index group = 0; group < layer.groups; ++group) {
            const auto d_y_g = d_y.block(first, group * per_group, last - first, per_group);
            const auto x_g = x.block(first + shift, group * inputs, last - first, inputs);
            grad.x.block(first + shift, group * inputs, last - first, inputs) +=
                d_y_g * tap_weight.middleRows(group * per_group, per_group);
            tap_gradient.middleRows(group * per_group, per_group) = d_y_g.transpose() * x_g;
        }
        for (Index in = 0; in < inputs; ++in) grad.weight.col(in * layer.kernel + tap) = tap_gradient.col(in);
    }
    return grad;
}

template DenseGradients<float> dense_backward<float>(const ConstView<float>&, const Dense<float>&,
                                                     const ConstView<float>&);
template NormGradients<float> layer_norm_backward<float>(const ConstView<float>&, const Norm<float>&, double,
                                                         const ConstView<float>&);
template Matrix<float> activate_backward<float>(const ConstView<float>&, Activation, const ConstView<float>&);
template ConvolutionGradients<float> convolve_backward<float>(const ConstView<float>&, const Convolution<float>&,
                                                              const ConstView<float>&);
template DenseGradients<double> dense_backward<double>(const ConstView<double>&, const Dense<double>&,
                                                       const ConstView<double>&);
template NormGradients<double> layer_norm_backward<double>(const ConstView<double>&, const Norm<double>&, double,
                                                           const ConstView<double>&);
template Matrix<double> activate_backward<double>(const ConstView<double>&, Activation, const ConstView<double>&);
template ConvolutionGradients<double> convolve_backward<double>(const ConstView<double>&, const Convolution<double>&,
                                                                const ConstView<double>&);

}  // namespace locus
