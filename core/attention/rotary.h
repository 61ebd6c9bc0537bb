#pragma once
// Attention whose queries and keys are turned by their positions.  Su et al. 2021, eq. 16; spec 6.1.
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

/// softmax(rotary_scores) v; v is not turned.  v [Tk,d_v], mask [Tq,Tk] or empty -> [Tq,d_v].
template <class Scalar>
Matrix<Scalar> rotary_attention(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, const Mask& mask);

}  // namespace locus
