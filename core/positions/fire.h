#pragma once
// FIRE: a learned function of the logarithm of the distance, divided by what the query's own position allows.
// Li et al. 2023, "Functional interpolation for relative positions improves long context transformers", eq. 2 and 3.
//
//   b(i,j) = f( psi(i - j) / psi(max(L, i)) ),   psi(x) = ln(c x + 1),   f: one hidden layer of ReLU, 1 -> width -> H
//
// Like T5 and ALiBi it adds one number per head to each score (core/attention/biased.h); unlike theirs the number is
// not a function of i - j alone: beyond L the same distance counts for less in a later row.  For causal models, as
// published. Used by lesson 27 and the viewer's page Positions.
#include <algorithm>
#include <cmath>

#include "core/tensor.h"
#include "core/trace.h"

namespace locus {

/// What is learned.  The authors start with c = 0.1, L = 512, width 32.
template <class Scalar>
struct FireWeights {
    Scalar c = Scalar(0.1);                // above 0: how soon psi bends
    Scalar threshold = 512;                // L, above 0: rows up to here are all divided by psi(L)
    RowVector<Scalar> in_weight, in_bias;  // [width]
    Matrix<Scalar> out_weight;             // [H,width]
    RowVector<Scalar> out_bias;            // [H]
};

/// psi(i - j) / psi(max(L, i)), j <= i: from 0, the query itself, to at most 1.  The logarithm tells near distances
/// apart better than far ones.  Short texts, i <= L: a function of i - j.  Beyond: the farthest key, j = 0, always has
/// 1, however long the text is.
template <class Scalar>
Scalar fire_ratio(Scalar c, Scalar threshold, Index i, Index j) {
    const auto psi = [c](Scalar x) { return std::log(c * x + 1); };
    return psi(Scalar(i - j)) / psi(std::max(threshold, Scalar(i)));
}

/// Both steps, for T tokens.  Keys after the query (j > i) have ratio and bias 0; the causal mask hides them.
template <class Scalar>
struct FireTerms {
    Matrix<Scalar> ratio;  // fire_ratio, [T,T]
    Tensor<Scalar> bias;   // f(ratio), [H,T,T]

    /// Stages relative.ratio and relative.bias.
    void add_to(Trace& trace) const;
};

/// The bias of every head for T tokens.  Throws Error(usage) unless tokens >= 1, c and L are above 0 and the layers
/// fit. The authors' code adds 1e-6 to psi(max(L, i)); with c and L above 0 it is never 0, so the printed formula
/// stands here.
template <class Scalar>
FireTerms<Scalar> fire_bias(const FireWeights<Scalar>& weights, Index tokens);

/// Backward: from d_bias [H,T,T] (for the heads' scores) to the gradient of every weight; `terms` of the forward pass.
/// With x = in_weight ratio + in_bias per pair: d_out_weight = sum d_bias relu(x), d_x = d_bias out_weight where x > 0,
/// and through the quotient and the logarithms to c and, from rows i < L, to L.  Keys after the query count for
/// nothing.
template <class Scalar>
FireWeights<Scalar> fire_bias_backward(const FireWeights<Scalar>& weights, const FireTerms<Scalar>& terms,
                                       const Tensor<Scalar>& d_bias);

}  // namespace locus
