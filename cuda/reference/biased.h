#pragma once
// The GPU twin of core/attention/biased.h (T5 and ALiBi).
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/attention/biased.h"

namespace locus::cuda {

/// As locus::biased_attention: head `head` of the line.  q [Tq,d], k and v [Tk,d], mask [Tq,Tk] or empty.
template <class Scalar>
BiasedTerms<Scalar> biased_attention(const Matrix<Scalar>& q, const Matrix<Scalar>& k, const Matrix<Scalar>& v,
                                     const OffsetBias<Scalar>& line, Index head, ContentScale scale, const Mask& mask);

}  // namespace locus::cuda
