#pragma once
// Linear attention backwards, with sums over tokens that are made once here too: O(T d d_v), no [T,T] anywhere.
// Katharopoulos et al. 2020, section 3.3.1; spec 6.6 and 9.2.
#include <vector>

#include "core/attention/linear.h"

namespace locus {

template <class Scalar>
struct LinearGradients {
    Matrix<Scalar> q, k, v;  // [T,d], [T,d], [T,d_v]
};

/// With f the features of the numerator and phi those of the denominator (linear_features.h), KV = sum_j f(k_j)^T v_j
/// and z = sum_j phi(k_j):   o_i = n_i / s_i,  n_i = f(q_i) KV,  s_i = phi(q_i) . z.  The quotient gives
///   d_n_i = d_o_i / s_i,  d_s_i = -(d_o_i . o_i) / s_i  (0 where s_i was held up at 1e-6),
/// the queries  d_f(q_i) = d_n_i KV^T,  d_phi(q_i) = d_s_i z,  and the two sums over keys become sums over queries,
///   d_KV = sum_i f(q_i)^T d_n_i,  d_z = sum_i d_s_i phi(q_i),
/// from which every key takes  d_f(k_j) = v_j d_KV^T,  d_phi(k_j) = d_z,  d_v_j = f(k_j) d_KV;  a hidden key nothing.
/// Arguments as in linear_attention, d_context [T,d_v].  Throws Error(usage) that names what does not fit.
template <class Scalar>
LinearGradients<Scalar> linear_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                        RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_context,
                                        const std::vector<bool>& visible = {});

/// The causal form: query i knew the sums over keys j <= i, so key j is owed the sums over queries i >= j.  One pass
/// forwards grows KV and z and serves the queries, one pass backwards grows d_KV and d_z and serves the keys.
template <class Scalar>
LinearGradients<Scalar> causal_linear_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                               const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                               RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_context,
                                               const std::vector<bool>& visible = {});

}  // namespace locus
