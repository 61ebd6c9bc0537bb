#pragma once
// The GPU twins of core/attention/linear.h.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/attention/linear.h"

namespace locus::cuda {

/// phi(x) = x + 1 for x > 0, e^x otherwise.
template <class Scalar>
Matrix<Scalar> positive_features(const Matrix<Scalar>& x);

/// The weights that the two fast forms never write down.  q, k [T,d], visible [T] or empty -> [T,T].
template <class Scalar>
Matrix<Scalar> linear_attention_weights(const Matrix<Scalar>& q, const Matrix<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible = {});

/// Those times v [T,d_v], sums over keys made once -> [T,d_v].
template <class Scalar>
Matrix<Scalar> linear_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                const std::vector<bool>& visible = {});

/// The causal form, by prefix sums.
template <class Scalar>
Matrix<Scalar> causal_linear_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                       const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                       const std::vector<bool>& visible = {});

}  // namespace locus::cuda
