#pragma once
// Seeded numbers, the same on every machine and at every run.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/tensor.h"

namespace locus::lesson {

/// A linear congruential generator: enough for lessons, nothing for secrets.
class Seeded {
public:
    explicit Seeded(std::uint64_t seed) : state_(seed * 2862933555777941757ULL + 3037000493ULL) {}
    /// Between 0 and 1, never 0.
    double uniform() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return (static_cast<double>(state_ >> 11) + 0.5) / 9007199254740992.0;
    }
    /// Mean 0, variance 1 (Box and Muller).
    double gaussian() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }
    /// A whole number of 0 ... bound - 1.
    Index below(Index bound) { return static_cast<Index>(uniform() * static_cast<double>(bound)); }

    /// Numbers between -1 and 1.
    Matrix<double> matrix(Index rows, Index cols) {
        Matrix<double> values(rows, cols);
        for (Index n = 0; n < values.size(); ++n) values.data()[n] = 2 * uniform() - 1;
        return values;
    }
    /// Numbers of mean 0 and variance 1.
    Matrix<double> gaussians(Index rows, Index cols) {
        Matrix<double> values(rows, cols);
        for (Index n = 0; n < values.size(); ++n) values.data()[n] = gaussian();
        return values;
    }

private:
    std::uint64_t state_;
};

}  // namespace locus::lesson
