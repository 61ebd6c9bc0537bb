#include "core/models/layers.h"

#include <cmath>
#include <numbers>

namespace locus {

bool parse_activation(const std::string& name, Activation& activation) {
    if (name == "gelu")
        activation = Activation::gelu;
    else if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh")
        activation = Activation::gelu_tanh;
    else if (name == "relu")
        activation = Activation::relu;
    else if (name == "tanh")
        activation = Activation::tanh;
    else
        return false;
    return true;
}

template <class Scalar>
Matrix<Scalar> dense(const ConstView<Scalar>& x, const Dense<Scalar>& layer) {
    LOCUS_CHECK(x.cols() == layer.weight.cols(), "dense: input of width " + std::to_string(x.cols()) + ", expected " +
                                                     std::to_string(layer.weight.cols()));
    Matrix<Scalar> y = x * layer.weight.transpose();
    if (layer.bias.size() > 0) y.rowwise() += layer.bias;
    return y;
}

template <class Scalar>
Matrix<Scalar> layer_norm(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps) {
    Matrix<Scalar> y(x.rows(), x.cols());
    for (Index n = 0; n < x.rows(); ++n) {
        // A row of its own: Eigen sums in an order that depends on where in memory the first number lies.
        const RowVector<Scalar> row = x.row(n);
        const RowVector<Scalar> centred = row.array() - row.mean();
        const Scalar variance = centred.squaredNorm() / Scalar(x.cols());
        y.row(n) = centred / std::sqrt(variance + Scalar(eps));
        if (norm.weight.size() > 0) y.row(n) = y.row(n).cwiseProduct(norm.weight) + norm.bias;
    }
    return y;
}

template <class Scalar>
Matrix<Scalar> activate(const ConstView<Scalar>& x, Activation activation) {
    switch (activation) {
        case Activation::gelu:
            return x.unaryExpr(
                [](Scalar v) { return Scalar(0.5) * v * (Scalar(1) + std::erf(v * Scalar(1 / std::numbers::sqrt2))); });
        case Activation::gelu_tanh:
            return x.unaryExpr([](Scalar v) {
                const Scalar inner = Scalar(std::sqrt(2 / std::numbers::pi)) * (v + Scalar(0.044715) * v * v * v);
                return Scalar(0.5) * v * (Scalar(1) + std::tanh(inner));
            });
        case Activation::relu:
            return x.cwiseMax(Scalar(0));
        case Activation::tanh:
            break;
    }
    return x.unaryExpr([](Scalar v) { return std::tanh(v); });
}

template <class Scalar>
Matrix<Scalar> convolve(const ConstView<Scalar>& x, const Convolution<Scalar>& layer) {
    const Index outputs = layer.weight.rows(), inputs = layer.weight.cols() / layer.kernel;
    LOCUS_CHECK(x.cols() == inputs * layer.groups, "convolve: input of width " + std::to_string(x.cols()) +
                                                       ", expected " + std::to_string(inputs * layer.groups));
    Matrix<Scalar> y = layer.bias.replicate(x.rows(), 1);
    const Index per_group = outputs / layer.groups;
    for (Index tap = 0; tap < layer.kernel; ++tap) {
        const Index shift = tap - (layer.kernel - 1) / 2;  // the tap reads row t + shift
        const Index first = std::max<Index>(0, -shift), last = std::min(x.rows(), x.rows() - shift);
        if (first >= last) continue;
        Matrix<Scalar> tap_weight(outputs, inputs);
        for (Index in = 0; in < inputs; ++in) tap_weight.col(in) = layer.weight.col(in * layer.kernel + tap);
        for (Index group = 0; group < layer.groups; ++group)
            y.block(first, group * per_group, last - first, per_group) +=
                x.block(first + shift, group * inputs, last - first, inputs) *
                tap_weight.middleRows(group * per_group, per_group).transpose();
    }
    return y;
}

template <class Scalar>
Tensor<Scalar> split_heads(const Tensor<Scalar>& joined, Index heads) {
    const Index batch = joined.extent(0), length = joined.extent(1), width = joined.extent(2);
    LOCUS_CHECK(width % heads == 0, "split_heads: width " + std::to_string(width) + " is not a multiple of " +
                                        std::to_string(heads) + " heads");
    const Index head_width = width / heads;
    Tensor<Scalar> split({batch, heads, length, head_width});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h)
            split.matrix(b * heads + h) = joined.matrix(b).middleCols(h * head_width, head_width);
    return split;
}

template <class Scalar>
Tensor<Scalar> join_heads(const Tensor<Scalar>& split) {
    const Index batch = split.extent(0), heads = split.extent(1), length = split.extent(2), width = split.extent(3);
    Tensor<Scalar> joined({batch, length, heads * width});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h) joined.matrix(b).middleCols(h * width, width) = split.matrix(b * heads + h);
    return joined;
}

template Matrix<float> dense<float>(const ConstView<float>&, const Dense<float>&);
template Matrix<float> layer_norm<float>(const ConstView<float>&, const Norm<float>&, double);
template Matrix<float> activate<float>(const ConstView<float>&, Activation);
template Matrix<float> convolve<float>(const ConstView<float>&, const Convolution<float>&);
template Tensor<float> split_heads<float>(const Tensor<float>&, Index);
template Tensor<float> join_heads<float>(const Tensor<float>&);
template Matrix<double> dense<double>(const ConstView<double>&, const Dense<double>&);
template Matrix<double> layer_norm<double>(const ConstView<double>&, const Norm<double>&, double);
template Matrix<double> activate<double>(const ConstView<double>&, Activation);
template Matrix<double> convolve<double>(const ConstView<double>&, const Convolution<double>&);
template Tensor<double> split_heads<double>(const Tensor<double>&, Index);
template Tensor<double> join_heads<double>(const Tensor<double>&);

}  // namespace locus
