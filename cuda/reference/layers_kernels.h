#pragma once
// Dense, layer norm, activations, convolution, and the language head: logits over the words and their loss.  The dense
// kernel is a loop over the channels like all the others and not a call of cuBLAS: it adds up in a stated order with
// each step rounded once (cuBLAS promises no order, and its float32 may use TF32 unless told not to), and the program
// stays one file that needs nothing but a driver, while the static cuBLAS is larger than all the rest together.  Fast
// products are those of cuda/encoder.
#include <algorithm>
#include <cmath>

#include "core/models/layers.h"
#include "core/models/word_logits.h"
#include "cuda/reference/backend.h"

namespace locus::cuda {

/// bias == nullptr: none.
template <class Scalar>
struct DenseKernel {
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
struct LayerNormKernel {
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
struct ActivateKernel {
    const Scalar* x;
    Activation activation;
    Scalar* y;
    constexpr void operator()(long long n) const { y[n] = activated(x[n], activation); }
};

/// Output `out` of row t; weight [outputs, inputs * kernel] with `inputs` channels of its group.
template <class Scalar>
struct ConvolveKernel {
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
                of_tap += x_row[in] * weight[tap_index(cell.j, in, tap, inputs, kernel)];
            sum += of_tap;
        }
        y[n] = sum;
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> dense(const Backend& backend, const Matrix<Scalar>& x, const Dense<Scalar>& layer) {
    check_width("dense", x.cols(), layer.weight.cols());
    LOCUS_CHECK(layer.bias.size() == 0 || layer.bias.size() == layer.weight.rows(),
                "cuda::dense: a bias of " + std::to_string(layer.bias.size()) + ", expected " +
                    std::to_string(layer.weight.rows()) + " or none");
    const auto there = upload(backend, x), weight = upload(backend, layer.weight);
    const auto bias = upload(backend, layer.bias);
    auto y = allocate<Scalar>(backend, x.rows(), layer.weight.rows());
    backend.parallel_for(x.rows() * layer.weight.rows(),
                         DenseKernel<Scalar>{there.data(), weight.data(), layer.bias.size() > 0 ? bias.data() : nullptr,
                                             narrow(layer.weight.rows()), narrow(x.cols()), y.data()});
    return download(backend, y, x.rows(), layer.weight.rows());
}

template <class Backend, class Scalar>
Matrix<Scalar> layer_norm(const Backend& backend, const Matrix<Scalar>& x, const Norm<Scalar>& norm, double eps) {
    if (norm.weight.size() > 0) check_width("layer_norm", x.cols(), norm.weight.size());
    check_width("layer_norm", norm.weight.size(), norm.bias.size());
    const auto there = upload(backend, x);
    const auto weight = upload(backend, norm.weight), bias = upload(backend, norm.bias);
    auto y = allocate<Scalar>(backend, x.rows(), x.cols());
    backend.parallel_for(
        x.rows(), LayerNormKernel<Scalar>{there.data(), norm.weight.size() > 0 ? weight.data() : nullptr, bias.data(),
                                          narrow(x.cols()), Scalar(eps), y.data()});
    return download(backend, y, x.rows(), x.cols());
}

template <class Backend, class Scalar>
Matrix<Scalar> activate(const Backend& backend, const Matrix<Scalar>& x, Activation activation) {
    const auto there = upload(backend, x);
    auto y = allocate<Scalar>(backend, x.rows(), x.cols());
    backend.parallel_for(x.size(), ActivateKernel<Scalar>{there.data(), activation, y.data()});
    return download(backend, y, x.rows(), x.cols());
}

template <class Backend, class Scalar>
Matrix<Scalar> convolve(const Backend& backend, const Matrix<Scalar>& x, const Convolution<Scalar>& layer) {
    const Index outputs = layer.weight.rows(), inputs = layer.weight.cols() / layer.kernel;
    check_width("convolve", x.cols(), inputs * layer.groups);
    LOCUS_CHECK(
        layer.bias.size() == outputs && outputs % layer.groups == 0 && layer.weight.cols() == inputs * layer.kernel,
        "cuda::convolve: a weight of " + to_string(Shape{outputs, layer.weight.cols()}) + " and a bias of " +
            std::to_string(layer.bias.size()) + " for " + std::to_string(layer.groups) + " groups and " +
            std::to_string(layer.kernel) + " taps do not fit");
    const auto there = upload(backend, x), weight = upload(backend, layer.weight);
    const auto bias = upload(backend, layer.bias);
    auto y = allocate<Scalar>(backend, x.rows(), outputs);
    backend.parallel_for(
        x.rows() * outputs,
        ConvolveKernel<Scalar>{there.data(), weight.data(), bias.data(), narrow(x.rows()), narrow(outputs),
                               narrow(inputs), narrow(layer.kernel), narrow(layer.groups), y.data()});
    return download(backend, y, x.rows(), outputs);
}

}  // namespace reference

// Logits against the word table, a block of words at a time, and the loss of one label.

/// One thread for the whole row: there are few targets.
template <class Scalar>
struct CrossEntropy {
    const Scalar* logits;
    int words, label;
    Scalar* loss;
    constexpr void operator()(long long) const {
        Scalar maximum = logits[0];
        for (int w = 1; w < words; ++w)
            if (!(logits[w] <= maximum)) maximum = logits[w];
        Scalar sum = 0;
        for (int w = 0; w < words; ++w) sum += std::exp(logits[w] - maximum);
        *loss = std::log(sum) - (logits[label] - maximum);
    }
};

/// One thread a row; given may be null.
template <class Scalar>
struct LogSoftmax {
    const Scalar *logits, *given;
    int words;
    Scalar* result;
    constexpr void operator()(long long row) const {
        const Scalar* x = logits + row * words;
        Scalar* y = result + row * words;
        Scalar maximum = x[0];
        for (int w = 1; w < words; ++w)
            if (!(x[w] <= maximum)) maximum = x[w];
        Scalar sum = 0;
        for (int w = 0; w < words; ++w) sum += std::exp(x[w] - maximum);
        const Scalar log_sum = std::log(sum), of_all = given ? given[row] : Scalar(0);
        for (int w = 0; w < words; ++w) y[w] = (x[w] - maximum) - log_sum + of_all;
    }
};

namespace reference {

template <class Backend, class Scalar>
Matrix<Scalar> word_logits(const Backend& backend, const Matrix<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias) {
    if (bias.size() > 0) check_width("word_logits", bias.size(), words);
    Matrix<Scalar> logits(x.rows(), words);
    for (Index first = 0; first < words; first += kWordsAtOnce) {
        const Index count = std::min(kWordsAtOnce, words - first);
        Dense<Scalar> block{table(first, count), {}};
        if (bias.size() > 0) block.bias = bias.segment(first, count);
        logits.middleCols(first, count) = dense(backend, x, block);
    }
    return logits;
}

template <class Backend, class Scalar>
Scalar cross_entropy(const Backend& backend, const RowVector<Scalar>& logits, std::int64_t label) {
    LOCUS_CHECK(
        label >= 0 && label < logits.size(),
        "labels holds " + std::to_string(label) + ", expected ids from 0 to " + std::to_string(logits.size() - 1));
    const auto there = upload(backend, logits);
    auto loss = allocate<Scalar>(backend, 1, 1);
    backend.parallel_for(
        1, CrossEntropy<Scalar>{there.data(), narrow(logits.size()), static_cast<int>(label), loss.data()});
    return download(backend, loss, 1, 1)(0, 0);
}

template <class Backend, class Scalar>
Matrix<Scalar> log_softmax(const Backend& backend, const Matrix<Scalar>& logits, const RowVector<Scalar>& given) {
    if (given.size() > 0) check_width("log_softmax", given.size(), logits.rows());
    const auto there = upload(backend, logits), of_all = upload(backend, given);
    auto result = allocate<Scalar>(backend, logits.rows(), logits.cols());
    backend.parallel_for(logits.rows(), LogSoftmax<Scalar>{there.data(), given.size() > 0 ? of_all.data() : nullptr,
                                                           narrow(logits.cols()), result.data()});
    return download(backend, result, logits.rows(), logits.cols());
}

}  // namespace reference

}  // namespace locus::cuda
