#pragma once
// Linear attention with rotary positions: sums over keys are made once instead of once per query.
// Katharopoulos et al. 2020; Su et al. 2021, eq. 19; spec 6.6.
#include <vector>

#include "core/attention/linear_features.h"
#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// What weights are divided by: the sum itself, at least 1e-6; NaN stays NaN.
template <class Scalar>
Scalar linear_denominator(Scalar sum);

/// The weights that the two fast forms never write down:
/// numerator(i,j) = f(q_i) . f(k_j) with f as `form` says, denominator(i) = sum over j of phi(q_i) . phi(k_j) (seed:
/// the numerators themselves), at least 1e-6.  No 1/sqrt(d).  q, k [T,d], visible [T] (0 = padding) or empty
/// -> [T,T].  causal: j <= i only.
template <class Scalar>
Matrix<Scalar> linear_attention_weights(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible = {});

/// linear_attention_weights * v in O(T d d_v): KV = sum_j f(k_j) v_j^T and z = sum_j phi(k_j) once, then one product
/// per query.  v [T,d_v] -> [T,d_v].  Throws Error(usage) if shapes do not fit.
template <class Scalar>
Matrix<Scalar> linear_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                const std::vector<bool>& visible = {});

/// The causal form, by prefix sums: KV and z grow by one key before each query uses them.
template <class Scalar>
Matrix<Scalar> causal_linear_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                       const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                       RotaryLayout layout, LinearForm form, const std::vector<bool>& visible = {});

}  // namespace locus
