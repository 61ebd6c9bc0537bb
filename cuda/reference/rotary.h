#pragma once
// The GPU twins of core/positions/rotary.h and core/attention/rotary.h, both layouts.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/attention/rotary.h"

namespace locus::cuda {

/// R_m x_m for every row m.  x [T,d], table of T rows -> [T,d].  Channels beyond the table pass unturned.
template <class Scalar>
Matrix<Scalar> rotate(const Matrix<Scalar>& x, const RotaryTable<Scalar>& table, RotaryLayout layout);

/// R_m^T y_m, the rotation undone.
template <class Scalar>
Matrix<Scalar> rotate_back(const Matrix<Scalar>& y, const RotaryTable<Scalar>& table, RotaryLayout layout);

/// (R_i q_i) . (R_j k_j) / sqrt(d).  q [Tq,d], k [Tk,d], one table row per query and per key -> [Tq,Tk].
template <class Scalar>
Matrix<Scalar> rotary_scores(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const RotaryTable<Scalar>& q_table,
                             const RotaryTable<Scalar>& k_table, RotaryLayout layout);

/// softmax(rotary_scores) v.  v [Tk,d_v], mask [Tq,Tk] or empty -> [Tq,d_v].
template <class Scalar>
Matrix<Scalar> rotary_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                const RotaryTable<Scalar>& table, RotaryLayout layout, const Mask& mask);

}  // namespace locus::cuda
