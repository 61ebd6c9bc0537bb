#pragma once
// Attention without positions.  Vaswani et al. 2017, eq. 1.
#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// softmax(q k^T / sqrt(d)) v, one head.
/// q [Tq,d], k [Tk,d], v [Tk,d], mask [Tq,Tk] or empty -> context [Tq,d].  Throws if the widths differ.
template <class Scalar>
Matrix<Scalar> scaled_dot_product(const ConstView<Scalar>& q, const ConstView<Scalar>& k, const ConstView<Scalar>& v,
                                  const Mask& mask);

}  // namespace locus
