#pragma once
// Why is this score 3.2?  One cell of rotary attention, plane by plane and channel by channel, to the last bit.
#include <vector>

#include "core/attention/softmax_steps.h"
#include "core/positions/rotary.h"

namespace locus {

/// What one head of one pass is made of, before the turn.
template <class Scalar>
struct RotaryHeadTensors {
    Matrix<Scalar> q, k;                   // [Tq,d], [Tk,d]
    RotaryTable<Scalar> q_table, k_table;  // one row per query and per key
    RotaryLayout layout = RotaryLayout::interleaved;
    Mask mask;  // [Tq,Tk] or empty
};

/// Two channels that turn together.
template <class Scalar>
struct TurnedPlane {
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
    std::vector<TurnedPlane<Scalar>> planes;
    std::vector<Scalar> left, right;  // q_rot and k_rot, channel by channel [d]
    std::vector<Scalar> products;     // left[c] * right[c]
    std::vector<Scalar> running;      // partial sums in the order of the channels; the last is `sum`
    Scalar sum = 0;
    Scalar divisor = 1;  // sqrt(d)
    Scalar score = 0;    // sum / divisor
    SoftmaxSteps<Scalar> softmax;
};

/// Replays cell (i, j); every number has exactly the bits that rotate, rotary_scores and masked_softmax give (asserted
/// by tests).  Channels beyond the tables' width pass unturned.  Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
RotaryExplanation<Scalar> explain_rotary_cell(const RotaryHeadTensors<Scalar>& head, Index i, Index j);

}  // namespace locus
