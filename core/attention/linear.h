#pragma once
// Linear attention with rotary positions: forward, backward, and one cell step by step.  Sums over keys are made once
// instead of once per query, because the weight of (i,j) is a product of a feature of i and a feature of j.
// Katharopoulos et al. 2020; Su et al. 2021, eq. 19.
#include <vector>

#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// Where the rotation stands relative to phi(x) = elu(x) + 1.
enum class LinearForm {
    paper,  // R phi(x) in the numerator, phi(x) in the denominator: depends on i - j alone; weights may be negative
    rotated_first,  // phi(R x) in both: weights are positive and sum to 1, but depend on absolute positions
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

/// Backward: from the gradients of both features of one operand to that of the operand, x [T,d] -> [T,d]: the two paths
/// add. paper: d_x = phi'(x) (R^T d_rotated + d_plain);  rotated_first: both features are phi(R x), so d_x = R^T
/// (phi'(R x) (d_rotated + d_plain)).
template <class Scalar>
Matrix<Scalar> linear_features_backward(const ConstView<Scalar>& x, const RotaryTable<Scalar>& table,
                                        RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_rotated,
                                        const ConstView<Scalar>& d_plain);

// Forward

/// What weights are divided by: the sum itself, at least 1e-6; NaN stays NaN.
template <class Scalar>
Scalar linear_denominator(Scalar sum);

/// The weights, which the two forms below never compute:
/// numerator(i,j) = f(q_i) . f(k_j) with f as `form` says, denominator(i) = sum over j of phi(q_i) . phi(k_j)
/// (rotated_first: the numerators themselves), at least 1e-6.  No 1/sqrt(d).  q, k [T,d], visible [T] (0 = padding) or
/// empty
/// -> [T,T].  causal: j <= i only.
template <class Scalar>
Matrix<Scalar> linear_attention_weights(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                        const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                        bool causal, const std::vector<bool>& visible = {});

/// linear_attention_weights * v in O(T d d_v): KV = sum_j f(k_j)^T v_j and z = sum_j phi(k_j) once, then one product
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

// Backward: sums over tokens are made once here too, O(T d d_v), no [T,T] anywhere.  Katharopoulos et al. 2020, section
// 3.3.1.

template <class Scalar>
struct LinearGradients {
    Matrix<Scalar> q, k, v;  // [T,d], [T,d], [T,d_v]
};

/// With f the features of the numerator and phi those of the denominator (LinearFeatures), KV = sum_j f(k_j)^T v_j
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

/// The causal form: query i used the sums over keys j <= i, so key j gets the sums over queries i >= j.  One loop from
/// the first token grows KV and z and serves the queries, one from the last grows d_KV and d_z and serves the keys.
template <class Scalar>
LinearGradients<Scalar> causal_linear_backward(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                               const ConstView<Scalar>& v, const RotaryTable<Scalar>& table,
                                               RotaryLayout layout, LinearForm form, const ConstView<Scalar>& d_context,
                                               const std::vector<bool>& visible = {});

// Explanation: why is this weight 0.21?  The rotation is in the numerator alone, and both sums run over the keys.

/// What one key adds.
template <class Scalar>
struct LinearKey {
    Scalar numerator = 0;          // (R_i phi(q_i)) . (R_j phi(k_j)); may be negative in the paper's form
    Scalar positive = 0;           // phi(q_i) . phi(k_j) (rotated_first: the numerator itself)
    Scalar running_numerator = 0;  // of the keys so far
    Scalar running_denominator = 0;
    Scalar weight = 0;  // numerator / denominator
};

template <class Scalar>
struct LinearExplanation {
    Index i = 0, j = 0;
    std::vector<Scalar> phi_q, phi_k;  // of query i and key j, not rotated (rotated_first: rotated before phi) [d]
    std::vector<Scalar> left, right;   // what the numerator multiplies [d]
    std::vector<Scalar> products, running;
    std::vector<LinearKey<Scalar>> keys;  // all, in order; those that the query does not see add exactly 0
    Scalar denominator = 0;               // the sum of `positive`, at least 1e-6
    Scalar weight = 0;                    // of key j; exactly 0 where the query does not see it
};

/// Replays cell (i, j) of linear_attention_weights with exactly its bits (asserted by tests); arguments are its own.
/// Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
LinearExplanation<Scalar> explain_linear_cell(const ConstView<Scalar>& q, const ConstView<Scalar>& k,
                                              const RotaryTable<Scalar>& table, RotaryLayout layout, LinearForm form,
                                              bool causal, const std::vector<bool>& visible, Index i, Index j);

}  // namespace locus
