#pragma once
// Products of matrices, as Eigen computes them: contexts, dense layers, backward passes.  They are compiled here once:
// each place that writes one with `*` makes the compiler build the whole of it again, two or three seconds for every
// new kind of operand.
#include "core/tensor.h"

namespace locus {

/// a b: [M,N] x [N,K] -> [M,K].  This and the next two sum in Eigen's order, which depends on the sizes.  They throw
/// Error(usage) if the axes that are summed differ.
template <class Scalar>
Matrix<Scalar> times(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

/// a b^T: [M,N] x [K,N] -> [M,K].
template <class Scalar>
Matrix<Scalar> times_transposed(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

/// a^T b: [N,M] x [N,K] -> [M,K].
template <class Scalar>
Matrix<Scalar> transposed_times(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

}  // namespace locus
