#pragma once
// The weights of the layer that a replay stands in, whichever family it is of.
#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

/// Query, key or value projection [H*d,D].  part: 0 q, 1 k, 2 v.
Dense<double> projection_of(const Replay& at, int part);
/// r_k = positions.r W^T of Transformer-XL and XLNet: W [H*d,D].
Matrix<double> position_projection_of(const Replay& at);
Index heads_of(const Replay& at);
/// Joined heads -> D.
Dense<double> attention_dense_of(const Replay& at);
Norm<double> attention_norm_of(const Replay& at);
Norm<double> ffn_norm_of(const Replay& at);
/// D -> F, and back.
Dense<double> ffn_dense_of(const Replay& at);
Dense<double> ffn_down_of(const Replay& at);
Activation activation_of(const Replay& at);
double norm_eps_of(const Replay& at);
/// True where the configuration puts the norms in front: Transformer-XL with pre_lnorm.
bool norm_first(const Replay& at);

/// embeddings.output of a DeBERTa or RoFormer where `change` [B*T,E] is added to the rows before their norm.
Tensor<double> embeddings_with(const Replay& at, Matrix<double> change);

/// True in the families whose keys and values are made of a memory too: Transformer-XL and XLNet.
bool has_memory(const Replay& at);
/// Rows that q (part 0), k and v (1, 2) are made of: x_q, or x, with the memory before it in a family that has one.
Tensor<double> attention_input(const Replay& at, int part);
/// The same as the projections see them: normed in a layer whose norms stand in front.
Tensor<double> projection_input(const Replay& at, int part);

/// dense(context) + residual, before any norm, and ffn + attention.
Tensor<double> attention_sum(const Replay& at, const Tensor<double>& residual);
Tensor<double> output_sum(const Replay& at);
/// What the feed-forward network is made of, [B*T,D]: attention, normed first in a layer whose norms stand in front.
Matrix<double> ffn_input(const Replay& at);
/// The norm behind such a sum; the sum as it is in a layer whose norms stand in front.
Tensor<double> after_sum(const Replay& at, const Tensor<double>& sum, const Norm<double>& norm);
/// What stands in place of a layer's own output: the stage `output`, or `output_before_conv` where a convolution
/// follows (DeBERTa, in every layer: its `output` is made from it).
std::vector<Formula> output_by(std::function<Tensor<double>(const Replay&)> compute);

/// (x - mean) / divisor(variance) * weight + bias per row; the variance is the mean of the squares.  Rows [N,D].
Matrix<double> normed_by(const Matrix<double>& x, const Norm<double>& norm,
                         const std::function<double(double variance)>& divisor);

}  // namespace locus::conformance
