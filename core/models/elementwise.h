#pragma once
// The small steps between the terms: sums, scales, hidden rows, mixed heads, the weighted values.  Each is one line of
// Eigen; they have names so that a pass can be run elsewhere step by step (core/models/operations.h).
#include <cstdint>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// sum += x, cell by cell.  Throws Error(usage) if the shapes differ; so do the others here.
template <class Scalar>
void add(const ConstView<Scalar>& x, View<Scalar> sum);

/// sum[n] += table[ids[n]]: an embedding added to others.  table [V,E], ids [N] -> sum [N,E].
/// Throws Error(usage) for an id outside the table.
template <class Scalar>
void add_rows(const ConstView<Scalar>& table, const std::vector<std::int64_t>& ids, View<Scalar> sum);

/// x *= factor and x /= divisor.
template <class Scalar>
void multiply(Scalar factor, View<Scalar> x);
template <class Scalar>
void divide(Scalar divisor, View<Scalar> x);

/// x[n] *= factors[n]: 0 hides a token.  factors [N], x [N,D].
template <class Scalar>
void multiply_rows(const RowVector<Scalar>& factors, View<Scalar> x);

/// out[b,g] = sum over h of weight[g,h] * scores[b,h]: talking heads.  scores [B,H,Tq,Tk], weight [H,H] -> [B,H,Tq,Tk].
/// Source: Shazeer et al. 2020; microsoft/DeBERTa disentangled_attention.py, version 1.
template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight);

/// context[i] = sum over j of probs[i,j] v_j.   probs [Tq,Tk], v [Tk,d] -> [Tq,d].
template <class Scalar>
Matrix<Scalar> context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v);
/// The same, written where it is to stand [Tq,d].  Eigen adds up in another order here, so the last bits may differ;
/// DeBERTa takes the form above, the other families this one.
template <class Scalar>
void context(const ConstView<Scalar>& probs, const ConstView<Scalar>& v, View<Scalar> result);

}  // namespace locus
