#pragma once
// Attention with turned queries and keys backwards.  Su et al. 2021, eq. 16; spec 6.1 and 9.2.
#include "core/attention/scaled_dot_product_backward.h"
#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// What one head's forward pass was given and left behind.
template <class Scalar>
struct RotaryHead {
    Matrix<Scalar> q, k, v;     // [T,d], [T,d], [T,d_v], before they were turned
    Matrix<Scalar> probs;       // [T,T], after the softmax and before dropout
    Matrix<Scalar> keep;        // [T,T], 0 or 1 / (1 - share); empty: no dropout
    bool turns_values = false;  // rotary_value: the context is made of R_j v_j
};

/// scores = (R_i q_i) . (R_j k_j) / sqrt(d) is linear in each, so the gradient goes back through the product to what
/// was turned and then through R^T = R_{-m}:  d_q_i = R_{-i} (d_scores k_rot)_i / sqrt(d),
/// d_k_j = R_{-j} (d_scores^T q_rot)_j / sqrt(d);  d_v_j = R_{-j} d_v_rot_j if the values turned too, else d_v itself.
/// table: a row per token; d_context [T,d_v].  Throws Error(usage) that names what does not fit.
/// Checked against torch's autograd of transformers' RoFormerSelfAttention.
template <class Scalar>
DotProductGradients<Scalar> rotary_backward(const RotaryHead<Scalar>& head, const RotaryTable<Scalar>& table,
                                            RotaryLayout layout, const ConstView<Scalar>& d_context);

}  // namespace locus
