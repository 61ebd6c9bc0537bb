#pragma once
// Dense, layer norm, activations, convolution.  The dense twin is a loop over the channels like all the others and not
// a call of cuBLAS: it adds up in a stated order with each step rounded once (cuBLAS promises no order, and its float32
// may use TF32 unless told not to), and the program stays one file that needs nothing but a driver, while the static
// cuBLAS is larger than all the rest together.  Speed is the business of the fused kernels and of products.h.
#include <cmath>

#include "core/models/layers.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

/// bias == nullptr: none.
template <class Scalar>
struct DenseCell {
    const Scalar *x, *weight, *bias;
    int outputs, channels;
    Scalar* y;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, outputs);
        const Scalar sum = dot(x + row_start(cell.i, channels), weight + row_start(cell.j, channels), channels);
        y[n] = bias ? sum + bias[cell.j] : sum;
    }
};

/// weight == nullptr: no affine part.
template <class Scalar>
struct LayerNormRow {
    const Scalar *x, *weight, *bias;
    int channels;
    Scalar eps;
    Scalar* y;
    constexpr void operator()(long long i) const {
        const Scalar* x_i = x + i * channels;
        Scalar* y_i = y + i * channels;
        Scalar mean = 0;
        for (int c = 0; c < channels; ++c) mean += x_i[c];
        mean /= Scalar(channels);
        Scalar variance = 0;
        for (int c = 0; c < channels; ++c) variance += (x_i[c] - mean) * (x_i[c] - mean);
        variance /= Scalar(channels);
        const Scalar deviation = std::sqrt(variance + eps);
        for (int c = 0; c < channels; ++c) {
            const Scalar normed = (x_i[c] - mean) / deviation;
            y_i[c] = weight ? normed * weight[c] + bias[c] : normed;
        }
    }
};

/// The constants are rounded to Scalar before they meet v, as on the CPU.
template <class Scalar>
constexpr Scalar activated(Scalar v, Activation activation) {
    constexpr Scalar kRootHalf = Scalar(0.70710678118654752440);       // 1 / sqrt(2)
    constexpr Scalar kRootTwoOverPi = Scalar(0.79788456080286535588);  // sqrt(2 / pi)
    switch (activation) {
        case Activation::gelu:
            return Scalar(0.5) * v * (Scalar(1) + std::erf(v * kRootHalf));
        case Activation::gelu_tanh: {
            const Scalar inner = kRootTwoOverPi * (v + Scalar(0.044715) * v * v * v);
            return Scalar(0.5) * v * (Scalar(1) + std::tanh(inner));
        }
        case Activation::relu:
            return v < Scalar(0) ? Scalar(0) : v;  // NaN stays NaN
        case Activation::tanh:
            break;
    }
    return std::tanh(v);
}

template <class Scalar>
struct ActivateCell {
    const Scalar* x;
    Activation activation;
    Scalar* y;
    constexpr void operator()(long long n) const { y[n] = activated(x[n], activation); }
};

/// Output `out` of row t; weight [outputs, inputs * kernel] with `inputs` channels of its group.
template <class Scalar>
struct ConvolveCell {
    const Scalar *x, *weight, *bias;
    int rows, outputs, inputs, kernel, groups;
    Scalar* y;
    constexpr void operator()(long long n) const {
        const CellIndex cell = cell_of(n, outputs);
        const int group = cell.j / (outputs / groups);
        Scalar sum = bias[cell.j];
        for (int tap = 0; tap < kernel; ++tap) {
            const int row = tap_row(cell.i, tap, kernel);
            if (row < 0 || row >= rows) continue;
            const Scalar* x_row = x + row_start(row, inputs * groups) + group * inputs;
            Scalar of_tap = 0;
            for (int in = 0; in < inputs; ++in)
                of_tap += x_row[in] * weight[tap_place(cell.j, in, tap, inputs, kernel)];
            sum += of_tap;
        }
        y[n] = sum;
    }
};

namespace twin {

template <class Place, class Scalar>
Matrix<Scalar> dense(const Place& place, const Matrix<Scalar>& x, const Dense<Scalar>& layer) {
    check_width("dense", x.cols(), layer.weight.cols());
    LOCUS_CHECK(layer.bias.size() == 0 || layer.bias.size() == layer.weight.rows(),
                "cuda::dense: a bias of " + std::to_string(layer.bias.size()) + ", expected " +
                    std::to_string(layer.weight.rows()) + " or none");
    const auto there = upload(place, x), weight = upload(place, layer.weight);
    const auto bias = upload(place, layer.bias);
    auto y = room<Scalar>(place, x.rows(), layer.weight.rows());
    place.each(x.rows() * layer.weight.rows(),
               DenseCell<Scalar>{there.data(), weight.data(), layer.bias.size() > 0 ? bias.data() : nullptr,
                                 narrow(layer.weight.rows()), narrow(x.cols()), y.data()});
    return download(place, y, x.rows(), layer.weight.rows());
}

template <class Place, class Scalar>
Matrix<Scalar> layer_norm(const Place& place, const Matrix<Scalar>& x, const Norm<Scalar>& norm, double eps) {
    if (norm.weight.size() > 0) check_width("layer_norm", x.cols(), norm.weight.size());
    check_width("layer_norm", norm.weight.size(), norm.bias.size());
    const auto there = upload(place, x);
    const auto weight = upload(place, norm.weight), bias = upload(place, norm.bias);
    auto y = room<Scalar>(place, x.rows(), x.cols());
    place.each(x.rows(), LayerNormRow<Scalar>{there.data(), norm.weight.size() > 0 ? weight.data() : nullptr,
                                              bias.data(), narrow(x.cols()), Scalar(eps), y.data()});
    return download(place, y, x.rows(), x.cols());
}

template <class Place, class Scalar>
Matrix<Scalar> activate(const Place& place, const Matrix<Scalar>& x, Activation activation) {
    const auto there = upload(place, x);
    auto y = room<Scalar>(place, x.rows(), x.cols());
    place.each(x.size(), ActivateCell<Scalar>{there.data(), activation, y.data()});
    return download(place, y, x.rows(), x.cols());
}

template <class Place, class Scalar>
Matrix<Scalar> convolve(const Place& place, const Matrix<Scalar>& x, const Convolution<Scalar>& layer) {
    const Index outputs = layer.weight.rows(), inputs = layer.weight.cols() / layer.kernel;
    check_width("convolve", x.cols(), inputs * layer.groups);
    LOCUS_CHECK(
        layer.bias.size() == outputs && outputs % layer.groups == 0 && layer.weight.cols() == inputs * layer.kernel,
        "cuda::convolve: a weight of " + to_string(Shape{outputs, layer.weight.cols()}) + " and a bias of " +
            std::to_string(layer.bias.size()) + " for " + std::to_string(layer.groups) + " groups and " +
            std::to_string(layer.kernel) + " taps do not fit");
    const auto there = upload(place, x), weight = upload(place, layer.weight);
    const auto bias = upload(place, layer.bias);
    auto y = room<Scalar>(place, x.rows(), outputs);
    place.each(x.rows() * outputs,
               ConvolveCell<Scalar>{there.data(), weight.data(), bias.data(), narrow(x.rows()), narrow(outputs),
                                    narrow(inputs), narrow(layer.kernel), narrow(layer.groups), y.data()});
    return download(place, y, x.rows(), outputs);
}

}  // namespace twin

}  // namespace locus::cuda
