#pragma once
// The dumb twins: networks as plain loops in double, written from the formulas and sharing nothing with core but the
// container of numbers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "core/models/layers.h"
#include "core/tensor.h"

namespace locus::test {

using Rows = Matrix<double>;

/// Normal numbers times `size`.
template <class Scalar = double>
Matrix<Scalar> random_rows(Index rows, Index cols, unsigned seed, double size = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, size);
    Matrix<Scalar> values(rows, cols);
    for (Index n = 0; n < values.size(); ++n) values.data()[n] = Scalar(normal(generator));
    return values;
}

inline Dense<double> random_dense(Index out, Index in, unsigned seed, bool bias = true) {
    Dense<double> layer{random_rows(out, in, seed, 1.3 / std::sqrt(static_cast<double>(in))), {}};
    if (bias) layer.bias = random_rows(1, out, seed + 1000, 0.1);
    return layer;
}

/// max |a - b|; infinity for NaN or another shape, so that "<= tolerance" cannot pass by accident.
template <class A, class B>
double distance(const A& a, const B& b) {
    if (a.rows() != b.rows() || a.cols() != b.cols()) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (Index i = 0; i < a.rows(); ++i)
        for (Index j = 0; j < a.cols(); ++j) {
            const double difference = std::abs(static_cast<double>(a(i, j)) - static_cast<double>(b(i, j)));
            if (!(difference <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
            largest = std::max(largest, difference);
        }
    return largest;
}

inline double dumb_dot(const Rows& a, Index i, const Rows& b, Index j) {
    double sum = 0;
    for (Index c = 0; c < a.cols(); ++c) sum += a(i, c) * b(j, c);
    return sum;
}

inline Rows dumb_dense(const Rows& x, const Dense<double>& layer) {
    Rows y(x.rows(), layer.weight.rows());
    for (Index n = 0; n < y.rows(); ++n)
        for (Index o = 0; o < y.cols(); ++o)
            y(n, o) = dumb_dot(x, n, layer.weight, o) + (layer.bias.size() > 0 ? layer.bias[o] : 0);
    return y;
}

inline Rows dumb_norm(const Rows& x, const Norm<double>& norm, double eps) {
    Rows y(x.rows(), x.cols());
    const auto width = static_cast<double>(x.cols());
    for (Index n = 0; n < x.rows(); ++n) {
        double mean = 0, variance = 0;
        for (Index c = 0; c < x.cols(); ++c) mean += x(n, c) / width;
        for (Index c = 0; c < x.cols(); ++c) variance += (x(n, c) - mean) * (x(n, c) - mean) / width;
        for (Index c = 0; c < x.cols(); ++c)
            y(n, c) = (x(n, c) - mean) / std::sqrt(variance + eps) * norm.weight[c] + norm.bias[c];
    }
    return y;
}

/// Softmax over the keys that sees(i, j) allows; a row without any is 0.
inline Rows dumb_softmax(const Rows& scores, const std::function<bool(Index, Index)>& sees) {
    Rows probs = Rows::Zero(scores.rows(), scores.cols());
    for (Index i = 0; i < scores.rows(); ++i) {
        double sum = 0;
        for (Index j = 0; j < scores.cols(); ++j)
            if (sees(i, j)) sum += probs(i, j) = std::exp(scores(i, j));
        for (Index j = 0; j < scores.cols(); ++j)
            if (sum > 0) probs(i, j) /= sum;
    }
    return probs;
}

inline Rows dumb_average(const Rows& probs, const Rows& v) {
    Rows context = Rows::Zero(probs.rows(), v.cols());
    for (Index i = 0; i < probs.rows(); ++i)
        for (Index j = 0; j < probs.cols(); ++j)
            for (Index c = 0; c < v.cols(); ++c) context(i, c) += probs(i, j) * v(j, c);
    return context;
}

inline bool sees_all(Index, Index) { return true; }

}  // namespace locus::test
