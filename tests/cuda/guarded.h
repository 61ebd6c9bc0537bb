#pragma once
// Buffers for kernels that run on the host: what they write beside them shows, and their inputs are exact in float64.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "core/tensor.h"
#include "cuda/fused/half_types.h"

namespace locus::test {

/// Numbers that start at multiples of 16 bytes, as device memory does, with NaN around them.
template <class Scalar>
class Guarded {
public:
    explicit Guarded(std::size_t count) : storage_(count + 2 * kGuard + 16), count_(count) {
        for (Scalar& x : storage_) x = cuda::from_float<Scalar>(std::nanf(""));
        void* first = storage_.data() + kGuard;
        std::size_t left = (count + 16) * sizeof(Scalar);
        data_ = static_cast<Scalar*>(std::align(16, 1, first, left));
    }
    Scalar* data() { return data_; }
    const Scalar* data() const { return data_; }
    /// True if nothing outside was written.
    bool guards_hold() const {
        const auto holds = [](const Scalar& x) { return std::isnan(cuda::to_float(x)); };
        return std::all_of(storage_.data(), const_cast<const Scalar*>(data_), holds) &&
               std::all_of(const_cast<const Scalar*>(data_) + count_, storage_.data() + storage_.size(), holds);
    }

private:
    static constexpr std::size_t kGuard = 64;
    std::vector<Scalar> storage_;
    std::size_t count_;
    Scalar* data_ = nullptr;
};

/// Random numbers that the format holds exactly, in both precisions.
template <class Scalar>
struct Rounded {
    Guarded<Scalar> narrow;
    Matrix<double> wide;
    Rounded(Index rows, Index width, double size, std::mt19937& random)
        : narrow(static_cast<std::size_t>(rows * width)), wide(rows, width) {
        std::normal_distribution<double> normal(0, size);
        for (Index n = 0; n < wide.size(); ++n) {
            narrow.data()[n] = cuda::from_float<Scalar>(static_cast<float>(normal(random)));
            wide.data()[n] = cuda::to_float(narrow.data()[n]);
        }
    }
};

/// Half a unit in the last place of numbers just above 1.
template <class Scalar>
constexpr double kRoundoff = std::is_same_v<Scalar, float>        ? 0x1p-24
                             : std::is_same_v<Scalar, cuda::Half> ? 0x1p-11
                                                                  : 0x1p-8;

/// One rounding of the result to Scalar, with a reserve for its power of two, and sums of float32 as long as they are
/// deep; every activation has a slope of at most 1.13.
template <class Scalar>
double product_rounding(double size, int depth, double result) {
    return 1.13 * (depth + 4) * 0x1p-24 * size + 2 * kRoundoff<Scalar> * std::abs(result) + 0x1p-24;
}

/// What more is lost where the sum is rounded to Scalar before bias and activation.
template <class Scalar>
double rounded_between(double size) {
    return 1.13 * kRoundoff<Scalar> * size;
}

}  // namespace locus::test
