#pragma once
// The GPU twins of core/models/layers.h; `context` stands in cuda/reference/disentangled.h.
// Same names, shapes and order of sums as on the CPU, one simple kernel each; every function throws
// Error(unsupported) in one sentence where there is no device.
#include "core/models/layers.h"

namespace locus::cuda {

/// sum += x.
template <class Scalar>
void add(const Matrix<Scalar>& x, Matrix<Scalar>& sum);

/// sum[n] += table[ids[n]].  table [V,E], ids [N], sum [N,E].
template <class Scalar>
void add_rows(const Matrix<Scalar>& table, const std::vector<std::int64_t>& ids, Matrix<Scalar>& sum);

/// x *= factor.
template <class Scalar>
void multiply(Scalar factor, Matrix<Scalar>& x);

/// x /= divisor.
template <class Scalar>
void divide(Scalar divisor, Matrix<Scalar>& x);

/// x[n] *= factors[n].  factors [N], x [N,D].
template <class Scalar>
void multiply_rows(const RowVector<Scalar>& factors, Matrix<Scalar>& x);

/// out[b,g] = sum over h of weight[g,h] * scores[b,h].  scores [B,H,Tq,Tk], weight [H,H] -> [B,H,Tq,Tk].
template <class Scalar>
Tensor<Scalar> mix_heads(const Tensor<Scalar>& scores, const Matrix<Scalar>& weight);

}  // namespace locus::cuda
