#pragma once
// Seeded numbers for laws, and how much rounding may blur them.
#include <cstdint>
#include <limits>
#include <random>

#include "core/tensor.h"

namespace locus::test {

/// Seeded numbers, the same on every machine.
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    std::uint64_t below(std::uint64_t bound) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state_ >> 33) % bound;
    }
    double value() { return static_cast<double>(below(2000001)) / 1e6 - 1; }
    Matrix<double> matrix(Index rows, Index cols) {
        Matrix<double> values(rows, cols);
        for (Index n = 0; n < values.size(); ++n) values.data()[n] = value();
        return values;
    }

private:
    std::uint64_t state_;
};

/// Normal numbers; the same on every machine that has this standard library.
inline Tensor<double> random_tensor(Shape shape, unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    Tensor<double> values(std::move(shape));
    for (Index n = 0; n < values.size(); ++n) values[n] = normal(generator);
    return values;
}

/// What a sum of `terms` products of size up to `size` may lose to rounding.
inline double rounding(Index terms, double size) {
    return static_cast<double>(terms) * std::numeric_limits<double>::epsilon() * size;
}

}  // namespace locus::test
