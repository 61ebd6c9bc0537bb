#include "core/models/layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/products.h"
#include "core/tensor.h"

namespace locus {

// --- dense ---

template <class Scalar>
Matrix<Scalar> dense(const ConstView<Scalar>& x, const Dense<Scalar>& layer) {
    LOCUS_CHECK(x.cols() == layer.weight.cols(), "dense: input of width " + std::to_string(x.cols()) + ", expected " +
                                                     std::to_string(layer.weight.cols()));
    if (layer.bias.size() > 0) check_shape("dense", "bias", layer.bias, 1, layer.weight.rows());
    Matrix<Scalar> y = times_transposed<Scalar>(x, layer.weight);
    if (layer.bias.size() > 0) y.rowwise() += layer.bias;
    return y;
}

template <class Scalar>
DenseGradients<Scalar> dense_backward(const ConstView<Scalar>& x, const Dense<Scalar>& layer,
                                      const ConstView<Scalar>& d_y) {
    check_shape("dense_backward", "x", x, x.rows(), layer.weight.cols());
    check_shape("dense_backward", "d_y", d_y, x.rows(), layer.weight.rows());
    DenseGradients<Scalar> grad{times<Scalar>(d_y, layer.weight), transposed_times<Scalar>(d_y, x), {}};
    if (layer.bias.size() > 0) grad.bias = d_y.colwise().sum();
    return grad;
}

// --- layer norm ---

namespace {

/// Weight and bias as wide as the rows, or neither.
template <class Scalar>
void check_norm(const char* who, const Norm<Scalar>& norm, Index width) {
    if (norm.weight.size() == 0 && norm.bias.size() == 0) return;
    check_shape(who, "weight", norm.weight, 1, width);
    check_shape(who, "bias", norm.bias, 1, width);
}

}  // namespace

template <class Scalar>
Matrix<Scalar> layer_norm(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps) {
    LOCUS_CHECK(x.cols() > 0 || x.rows() == 0, "layer_norm: rows of 0 numbers, expected one or more");
    check_norm("layer_norm", norm, x.cols());
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
NormGradients<Scalar> layer_norm_backward(const ConstView<Scalar>& x, const Norm<Scalar>& norm, double eps,
                                          const ConstView<Scalar>& d_y) {
    const Index width = x.cols();
    const bool affine = norm.weight.size() > 0;
    check_shape("layer_norm_backward", "d_y", d_y, x.rows(), width);
    check_norm("layer_norm_backward", norm, width);
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

// --- activation ---

bool parse_activation(const std::string& name, Activation& activation) {
    if (name == "gelu" || name == "gelu_python")
        activation = Activation::gelu;
    else if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh" || name == "gelu_python_tanh" ||
             name == "gelu_accurate")
        activation = Activation::gelu_tanh;
    else if (name == "relu")
        activation = Activation::relu;
    else if (name == "tanh")
        activation = Activation::tanh;
    else
        return false;
    return true;
}

const char* to_string(Activation activation) {
    switch (activation) {
        case Activation::gelu:
            return "gelu";
        case Activation::gelu_tanh:
            return "gelu_new";
        case Activation::relu:
            return "relu";
        case Activation::tanh:
            return "tanh";
    }
    return "gelu";
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

namespace {

// Derivatives at v; layers.h has the formulas.

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
Matrix<Scalar> activate_backward(const ConstView<Scalar>& x, Activation activation, const ConstView<Scalar>& d_y) {
    check_shape("activate_backward", "d_y", d_y, x.rows(), x.cols());
    return x.binaryExpr(d_y, [activation](Scalar v, Scalar d) { return d * slope(activation, v); });
}

// --- convolution ---

namespace {

/// An even kernel has no middle tap, and padding (kernel - 1) / 2 would leave a row less than the text has.
template <class Scalar>
void check_convolution(const char* who, const Convolution<Scalar>& layer) {
    LOCUS_CHECK(layer.kernel >= 1 && layer.kernel % 2 == 1,
                std::string(who) + ": kernel is " + std::to_string(layer.kernel) + ", expected an odd number");
    LOCUS_CHECK(layer.groups >= 1 && layer.weight.rows() % layer.groups == 0,
                std::string(who) + ": groups is " + std::to_string(layer.groups) + ", expected a divisor of the " +
                    std::to_string(layer.weight.rows()) + " outputs");
    LOCUS_CHECK(layer.weight.cols() % layer.kernel == 0,
                std::string(who) + ": weight has " + std::to_string(layer.weight.cols()) +
                    " columns, expected a multiple of the kernel " + std::to_string(layer.kernel));
    check_shape(who, "bias", layer.bias, 1, layer.weight.rows());
}

}  // namespace

template <class Scalar>
Matrix<Scalar> convolve(const ConstView<Scalar>& x, const Convolution<Scalar>& layer) {
    check_convolution("convolve", layer);
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
                times_transposed<Scalar>(x.block(first + shift, group * inputs, last - first, inputs),
                                         tap_weight.middleRows(group * per_group, per_group));
    }
    return y;
}

template <class Scalar>
ConvolutionGradients<Scalar> convolve_backward(const ConstView<Scalar>& x, const Convolution<Scalar>& layer,
                                               const ConstView<Scalar>& d_y) {
    check_convolution("convolve_backward", layer);
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
                times<Scalar>(d_y_g, tap_weight.middleRows(group * per_group, per_group));
            tap_gradient.middleRows(group * per_group, per_group) = transposed_times<Scalar>(d_y_g, x_g);
        }
        for (Index in = 0; in < inputs; ++in) grad.weight.col(in * layer.kernel + tap) = tap_gradient.col(in);
    }
    return grad;
}

// --- shapes and heads ---

namespace {

template <class Scalar>
void check_rank(const char* who, const Tensor<Scalar>& tensor, Index rank, const char* expected) {
    LOCUS_CHECK(tensor.rank() == rank,
                std::string(who) + ": a tensor of " + to_string(tensor.shape()) + ", expected " + expected);
}

}  // namespace

template <class Scalar>
Tensor<Scalar> as_tensor(Shape shape, const Matrix<Scalar>& rows) {
    Tensor<Scalar> tensor(std::move(shape));
    LOCUS_CHECK(tensor.size() == rows.size(), "as_tensor: " + std::to_string(rows.size()) +
                                                  " values do not fill the shape " + to_string(tensor.shape()));
    tensor.rows() = rows;
    return tensor;
}

template <class Scalar>
Tensor<Scalar> split_heads(const Tensor<Scalar>& joined, Index heads) {
    check_rank("split_heads", joined, 3, "[B,T,H*d]");
    const Index batch = joined.extent(0), length = joined.extent(1), width = joined.extent(2);
    LOCUS_CHECK(heads >= 1, "split_heads: " + std::to_string(heads) + " heads, expected at least 1");
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
    check_rank("join_heads", split, 4, "[B,H,T,d]");
    const Index batch = split.extent(0), heads = split.extent(1), length = split.extent(2), width = split.extent(3);
    Tensor<Scalar> joined({batch, length, heads * width});
    for (Index b = 0; b < batch; ++b)
        for (Index h = 0; h < heads; ++h) joined.matrix(b).middleCols(h * width, width) = split.matrix(b * heads + h);
    return joined;
}

template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight) {
    check_rank("mix_heads", scores, 4, "[B,H,Tq,Tk]");
    const Index heads = scores.extent(1);
    LOCUS_CHECK(weight.rows() == heads && weight.cols() == heads,
                "mix_heads: weights " + to_string(Shape{weight.rows(), weight.cols()}) + ", expected " +
                    to_string(Shape{heads, heads}) + ", one per pair of heads");
    Tensor<Scalar> mixed(scores.shape());
    for (Index b = 0; b < scores.extent(0); ++b)
        for (Index g = 0; g < heads; ++g) {
            auto mixed_g = mixed.matrix(b * heads + g);
            mixed_g.setZero();
            for (Index h = 0; h < heads; ++h) mixed_g += weight(g, h) * scores.matrix(b * heads + h);
        }
    return mixed;
}

template <class Scalar>
MixHeadsGradients<Scalar> mix_heads_backward(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight,
                                             const Tensor<Scalar>& d_mixed) {
    LOCUS_CHECK(d_mixed.shape() == scores.shape(), "mix_heads_backward: d_mixed is " + to_string(d_mixed.shape()) +
                                                       ", expected " + to_string(scores.shape()));
    check_rank("mix_heads_backward", scores, 4, "[B,H,Tq,Tk]");
    const Index heads = scores.extent(1);
    check_shape("mix_heads_backward", "weight", weight, heads, heads);
    MixHeadsGradients<Scalar> grad{mix_heads<Scalar>(d_mixed, weight.transpose()), Matrix<Scalar>::Zero(heads, heads)};
    for (Index b = 0; b < scores.extent(0); ++b)
        for (Index g = 0; g < heads; ++g)
            for (Index h = 0; h < heads; ++h)
                grad.weight(g, h) += d_mixed.matrix(b * heads + g).cwiseProduct(scores.matrix(b * heads + h)).sum();
    return grad;
}

// --- between the layers ---

template <class Scalar>
void add(const ConstView<Scalar>& x, View<Scalar> sum) {
    LOCUS_CHECK(x.rows() == sum.rows() && x.cols() == sum.cols(),
                "add: " + to_string(Shape{x.rows(), x.cols()}) + " to " + to_string(Shape{sum.rows(), sum.cols()}) +
                    ", expected one shape");
    sum += x;
}

template <class Scalar>
void add_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& ids, View<Scalar> sum) {
    LOCUS_CHECK(static_cast<Index>(ids.size()) == sum.rows() && table.cols() == sum.cols(),
                "add_rows: " + std::to_string(ids.size()) + " rows of " + std::to_string(table.cols()) +
                    " channels to " + to_string(Shape{sum.rows(), sum.cols()}) + ", expected as many");
    for (Index n = 0; n < sum.rows(); ++n) {
        const std::int64_t id = ids[static_cast<std::size_t>(n)];
        LOCUS_CHECK(id >= 0 && id < table.rows(),
                    "add_rows: row " + std::to_string(id) + ", expected 0 to " + std::to_string(table.rows() - 1));
        sum.row(n) += table.row(id);
    }
}

template <class Scalar>
void multiply(Scalar factor, View<Scalar> x) {
    x *= factor;
}

template <class Scalar>
void divide(Scalar divisor, View<Scalar> x) {
    x /= divisor;
}

template <class Scalar>
void multiply_rows(const RowVector<Scalar>& factors, View<Scalar> x) {
    LOCUS_CHECK(factors.size() == x.rows(), "multiply_rows: " + std::to_string(factors.size()) + " factors for " +
                                                std::to_string(x.rows()) + " rows, expected one each");
    for (Index n = 0; n < x.rows(); ++n) x.row(n) *= factors[n];
}

template <class Scalar>
MultiplyRowsGradients<Scalar> multiply_rows_backward(const RowVector<Scalar>& factors, const ConstView<Scalar>& x,
                                                     const ConstView<Scalar>& d_y) {
    check_shape("multiply_rows_backward", "factors", factors, 1, x.rows());
    check_shape("multiply_rows_backward", "d_y", d_y, x.rows(), x.cols());
    MultiplyRowsGradients<Scalar> grad{x.cwiseProduct(d_y).rowwise().sum().transpose(), d_y};
    multiply_rows<Scalar>(factors, grad.x);
    return grad;
}

namespace {

void check_values(Index keys, Index values) {
    LOCUS_CHECK(keys == values, "context: probabilities of " + std::to_string(keys) + " keys but " +
                                    std::to_string(values) + " values, expected as many");
}

}  // namespace

template <class Scalar>
Matrix<Scalar> context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v) {
    check_values(probs.cols(), v.rows());
    return times<Scalar>(probs, v);
}

template <class Scalar>
void context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v, View<Scalar> result) {
    check_values(probs.cols(), v.rows());
    LOCUS_CHECK(result.rows() == probs.rows() && result.cols() == v.cols(),
                "context: a result of " + to_string(Shape{result.rows(), result.cols()}) + ", expected " +
                    to_string(Shape{probs.rows(), v.cols()}));
    result = times<Scalar>(probs, v);
}

template Matrix<float> dense<float>(const ConstView<float>&, const Dense<float>&);
template DenseGradients<float> dense_backward<float>(const ConstView<float>&, const Dense<float>&,
                                                     const ConstView<float>&);
template Matrix<float> layer_norm<float>(const ConstView<float>&, const Norm<float>&, double);
template NormGradients<float> layer_norm_backward<float>(const ConstView<float>&, const Norm<float>&, double,
                                                         const ConstView<float>&);
template Matrix<float> activate<float>(const ConstView<float>&, Activation);
template Matrix<float> activate_backward<float>(const ConstView<float>&, Activation, const ConstView<float>&);
template Matrix<float> convolve<float>(const ConstView<float>&, const Convolution<float>&);
template ConvolutionGradients<float> convolve_backward<float>(const ConstView<float>&, const Convolution<float>&,
                                                              const ConstView<float>&);
template Tensor<float> as_tensor<float>(Shape, const Matrix<float>&);
template Tensor<float> split_heads<float>(const Tensor<float>&, Index);
template Tensor<float> join_heads<float>(const Tensor<float>&);
template Tensor<float> mix_heads<float>(const Tensor<float>&, const Matrix<float>&);
template MixHeadsGradients<float> mix_heads_backward<float>(const Tensor<float>&, const Matrix<float>&,
                                                            const Tensor<float>&);
template void add<float>(const ConstView<float>&, View<float>);
template void add_rows<float>(const ConstView<float>&, const std::vector<std::int64_t>&, View<float>);
template void multiply<float>(float, View<float>);
template void divide<float>(float, View<float>);
template void multiply_rows<float>(const RowVector<float>&, View<float>);
template MultiplyRowsGradients<float> multiply_rows_backward<float>(const RowVector<float>&, const ConstView<float>&,
                                                                    const ConstView<float>&);
template Matrix<float> context<float>(const ConstView<float>&, const ConstView<float>&);
template void context<float>(const ConstView<float>&, const ConstView<float>&, View<float>);

template Matrix<double> dense<double>(const ConstView<double>&, const Dense<double>&);
template DenseGradients<double> dense_backward<double>(const ConstView<double>&, const Dense<double>&,
                                                       const ConstView<double>&);
template Matrix<double> layer_norm<double>(const ConstView<double>&, const Norm<double>&, double);
template NormGradients<double> layer_norm_backward<double>(const ConstView<double>&, const Norm<double>&, double,
                                                           const ConstView<double>&);
template Matrix<double> activate<double>(const ConstView<double>&, Activation);
template Matrix<double> activate_backward<double>(const ConstView<double>&, Activation, const ConstView<double>&);
template Matrix<double> convolve<double>(const ConstView<double>&, const Convolution<double>&);
template ConvolutionGradients<double> convolve_backward<double>(const ConstView<double>&, const Convolution<double>&,
                                                                const ConstView<double>&);
template Tensor<double> as_tensor<double>(Shape, const Matrix<double>&);
template Tensor<double> split_heads<double>(const Tensor<double>&, Index);
template Tensor<double> join_heads<double>(const Tensor<double>&);
template Tensor<double> mix_heads<double>(const Tensor<double>&, const Matrix<double>&);
template MixHeadsGradients<double> mix_heads_backward<double>(const Tensor<double>&, const Matrix<double>&,
                                                              const Tensor<double>&);
template void add<double>(const ConstView<double>&, View<double>);
template void add_rows<double>(const ConstView<double>&, const std::vector<std::int64_t>&, View<double>);
template void multiply<double>(double, View<double>);
template void divide<double>(double, View<double>);
template void multiply_rows<double>(const RowVector<double>&, View<double>);
template MultiplyRowsGradients<double> multiply_rows_backward<double>(const RowVector<double>&,
                                                                      const ConstView<double>&,
                                                                      const ConstView<double>&);
template Matrix<double> context<double>(const ConstView<double>&, const ConstView<double>&);
template void context<double>(const ConstView<double>&, const ConstView<double>&, View<double>);

}  // namespace locus
