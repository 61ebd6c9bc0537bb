#pragma once
// Attention before it had keys and values: one decoder state asks how well each encoder state fits.
// Bahdanau et al. 2015, appendix A.1.2 (additive); Luong et al. 2015, eq. 8 "general" (multiplicative).
// Used by core/models/older/seq2seq.h.
#include "core/tensor.h"

namespace locus {

/// a(s, h_j) = energy . tanh(W_s s + W_h h_j): a small network with one hidden layer.
template <class Scalar>
struct AdditiveAlignment {
    Matrix<Scalar> state;      // W_s [A,n]
    Matrix<Scalar> encoder;    // W_h [A,m]
    RowVector<Scalar> energy;  // [A]
};

/// a(s, h_j) = s . W h_j: a product, no network.
template <class Scalar>
struct MultiplicativeAlignment {
    Matrix<Scalar> weight;  // W [n,m]
};

/// How state s [n] fits every encoder state h [T,m] -> [T] scores, before the softmax.
/// Throws Error(usage) if the widths do not fit the weights.
template <class Scalar>
RowVector<Scalar> alignment_scores(const AdditiveAlignment<Scalar>& weights, const RowVector<Scalar>& state,
                                   const ConstView<Scalar>& encoder);
template <class Scalar>
RowVector<Scalar> alignment_scores(const MultiplicativeAlignment<Scalar>& weights, const RowVector<Scalar>& state,
                                   const ConstView<Scalar>& encoder);

}  // namespace locus
