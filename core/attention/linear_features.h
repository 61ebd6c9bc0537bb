#pragma once
// What linear attention makes of queries and keys before it adds up, and the same step backwards.  Spec 6.6.
#include <vector>

#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// Where the rotation stands relative to phi(x) = elu(x) + 1.
enum class LinearForm {
    paper,  // R phi(x) in the numerator, phi(x) in the denominator: depends on i - j alone; weights may be negative
    seed,   // phi(R x) in both (seed 001): weights are positive and sum to 1, but depend on absolute positions
};

/// phi(x) = x + 1 for x > 0, e^x otherwise, element by element.
template <class Scalar>
Matrix<Scalar> positive_features(const ConstView<Scalar>& x);

/// d_phi times the slope of phi at x: 1 for x > 0, e^x otherwise.
template <class Scalar>
Matrix<Scalar> positive_features_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& d_phi);

/// The four features of one call, [T,d] each; pads have no key features, which removes them from every sum.
template <class Scalar>
struct LinearFeatures {
    Matrix<Scalar> q, k;      // of the numerator
    Matrix<Scalar> q_z, k_z;  // of the denominator
};

/// q, k [T,d], a table row per token, visible [T] or empty.  Throws Error(usage) that names what does not fit.
template <class Scalar>
LinearFeatures<Scalar> linear_features(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                       const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                       const std::vector<bool>& visible);

/// From the gradients of both features of one operand to that of the operand, x [T,d] -> [T,d]: the two paths add.
/// paper: d_x = phi'(x) (R^T d_turned + d_plain);  seed: both features are phi(R x), so
/// d_x = R^T (phi'(R x) (d_turned + d_plain)).
template <class Scalar>
Matrix<Scalar> linear_features_backward(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table,
                                        RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_turned,
                                        const ConstView<Scalar>& d_plain);

}  // namespace locus
