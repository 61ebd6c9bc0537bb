#pragma once
// Attention whose queries and keys are rotated by their positions: forward, backward, and one cell step by step.
// Su et al. 2021, eq. 16.
#include <vector>

#include "core/attention/scaled_dot_product.h"
#include "core/attention/softmax.h"
#include "core/positions/rotary.h"
#include "core/tensor.h"

namespace locus {

/// scores[i,j] = (R_i q_i) . (R_j k_j) / sqrt(d) = q_i^T R_{j-i} k_j / sqrt(d).
/// q [Tq,d], k [Tk,d], one table row per query and per key (a cached prefix moves only the queries' rows) -> [Tq,Tk].
/// Throws Error(usage) if shapes do not fit.
template <class Scalar>
Matrix<Scalar> rotary_scores(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const RotaryTable<Scalar>& q_table,
                             const RotaryTable<Scalar>& k_table, RotaryLayout layout);

/// softmax(rotary_scores) v; v is not rotated.  v [Tk,d_v], mask [Tq,Tk] or empty -> [Tq,d_v].
template <class Scalar>
Matrix<Scalar> rotary_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, const Mask& mask);

// Backward

/// One head: what its forward pass was given, and the probabilities that it computed.
template <class Scalar>
struct RotaryHead {
    Matrix<Scalar> q, k, v;       // [T,d], [T,d], [T,d_v], before the rotation
    Matrix<Scalar> probs;         // [T,T], after the softmax and before dropout
    Matrix<Scalar> keep;          // [T,T], 0 or 1 / (1 - p); empty: no dropout
    bool rotates_values = false;  // rotary_value: the context is made of R_j v_j
};

/// scores = (R_i q_i) . (R_j k_j) / sqrt(d) is linear in each, so the gradient passes through the product to the
/// rotated vectors and then through R^T = R_{-m}:  d_q_i = R_{-i} (d_scores k_rot)_i / sqrt(d), d_k_j = R_{-j}
/// (d_scores^T q_rot)_j / sqrt(d);  d_v_j = R_{-j} d_v_rot_j if the values are rotated too, else d_v itself. table: a
/// row per token; d_context [T,d_v].  Throws Error(usage) that names what does not fit. Checked against torch's
/// autograd of transformers' RoFormerSelfAttention.
template <class Scalar>
DotProductGradients<Scalar> rotary_backward(const RotaryHead<Scalar>& head, const RotaryTable<Scalar>& table,
                                            RotaryLayout layout, const ConstView<Scalar>& d_context);

// Explanation: why is this score 3.2?

/// What one head of one pass is made of, before the rotation.
template <class Scalar>
struct RotaryHeadTensors {
    Matrix<Scalar> q, k;                   // [Tq,d], [Tk,d]
    RotaryTable<Scalar> q_table, k_table;  // one row per query and per key
    RotaryLayout layout = RotaryLayout::interleaved;
    Mask mask;  // [Tq,Tk] or empty
    MaskedRow masked_row = MaskedRow::zero;
};

/// Two channels that are rotated together.
template <class Scalar>
struct RotatedPlane {
    Index a = 0, b = 0;                                                       // its channels
    Scalar q_a = 0, q_b = 0;                                                  // before
    Scalar q_cos = 0, q_sin = 0;                                              // of the query's position
    Scalar q_a_rot = 0, q_b_rot = 0;                                          // q_a cos - q_b sin, q_b cos + q_a sin
    Scalar k_a = 0, k_b = 0, k_cos = 0, k_sin = 0, k_a_rot = 0, k_b_rot = 0;  // the same of the key
    Scalar product_a = 0, product_b = 0;                                      // q_rot k_rot of its two channels
    Scalar step = 0;  // product_a + product_b; |q||k| cos(angle between them + (i - j) theta)
};

template <class Scalar>
struct RotaryExplanation {
    Index i = 0, j = 0;
    std::vector<RotatedPlane<Scalar>> planes;
    std::vector<Scalar> left, right;  // q_rot and k_rot, channel by channel [d]
    std::vector<Scalar> products;     // left[c] * right[c]
    std::vector<Scalar> running;      // partial sums in the order of the channels; the last is `sum`
    Scalar sum = 0;
    Scalar divisor = 1;  // sqrt(d)
    Scalar score = 0;    // sum / divisor
    SoftmaxSteps<Scalar> softmax;
};

/// Replays cell (i, j); every number has exactly the bits that rotate, rotary_scores and masked_softmax give (asserted
/// by tests).  Channels beyond the tables' width pass unchanged.  Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
RotaryExplanation<Scalar> explain_rotary_cell(const RotaryHeadTensors<Scalar>& head, Index i, Index j);

}  // namespace locus
