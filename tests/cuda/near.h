#pragma once
// How far a GPU kernel may stand from the CPU: nothing where both add up in one order, else what rounding explains,
// cell by cell, from the length of the sums and the size of what was added.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "core/attention/softmax.h"
#include "core/products.h"
#include "core/tensor.h"

namespace locus::test {

/// Queries and keys of the probes: beside every power of two that a kernel may cut at.
inline const std::vector<Index> kSizes = {1, 7, 31, 33, 63, 65, 127, 129, 300, 513, 1025};

/// |expected - found| <= allowed in every cell; NaN and another shape fail.
template <class Scalar>
void check_within(const Matrix<Scalar>& expected, const Matrix<Scalar>& found, const Matrix<double>& allowed) {
    REQUIRE((expected.rows() == found.rows() && expected.cols() == found.cols()));
    REQUIRE((expected.rows() == allowed.rows() && expected.cols() == allowed.cols()));
    Index beyond = 0, worst = 0;
    double furthest = 0;
    for (Index n = 0; n < expected.size(); ++n) {
        const double difference = std::abs(double(expected.data()[n]) - double(found.data()[n]));
        if (difference <= allowed.data()[n]) continue;
        ++beyond;
        if (difference - allowed.data()[n] <= furthest) continue;
        furthest = difference - allowed.data()[n];
        worst = n;
    }
    if (beyond == 0) {
        SUCCEED();
        return;
    }
    FAIL_CHECK(beyond << " cells beyond; at " << worst / expected.cols() << ", " << worst % expected.cols()
                      << ": expected " << expected.data()[worst] << ", found " << found.data()[worst] << ", allowed "
                      << allowed.data()[worst]);
}

template <class Scalar>
void check_same(const Matrix<Scalar>& expected, const Matrix<Scalar>& found) {
    check_within(expected, found, Matrix<double>(Matrix<double>::Zero(expected.rows(), expected.cols())));
}

template <class Scalar>
constexpr double epsilon() {
    return std::numeric_limits<Scalar>::epsilon();
}

/// Two sums of n products with the magnitudes |a| |b|^T + |c|, in any two orders: each loses at most n eps / 2 of it.
template <class Scalar>
Matrix<double> sums_of_products(const Matrix<Scalar>& a, const Matrix<Scalar>& b_transposed) {
    const Matrix<double> size =
        times_transposed<double>(a.template cast<double>().cwiseAbs(), b_transposed.template cast<double>().cwiseAbs());
    return size * (double(a.cols() + 2) * epsilon<Scalar>());
}

/// exp is right to 2 units in the last place on the device, its sum to as many as it has summands.
template <class Scalar>
Matrix<double> softmax_rounding(const Matrix<Scalar>& probs) {
    return probs.template cast<double>().cwiseAbs() * (double(probs.cols() + 8) * epsilon<Scalar>()) +
           Matrix<double>::Constant(probs.rows(), probs.cols(), std::numeric_limits<Scalar>::denorm_min());
}

/// Hides something in most rows and all of some.
inline Mask mask_with_hidden_rows(Index queries, Index keys) {
    Mask mask = Mask::Ones(queries, keys);
    for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) mask(i, j) = i % 5 != 4 && (i * 7 + j * 3) % 4 != 0;
    return mask;
}

}  // namespace locus::test
