#pragma once
// The rest of a layer after attention, the same in RoFormer, Transformer-XL and XLNet: dense, residual and norm, then
// the feed-forward network, residual and norm.
#include <string>

#include "core/models/operations.h"
#include "core/trace.h"

namespace locus {

/// Where the norms stand.
enum class NormOrder {
    post,  // norm(residual + x): the original Transformer and every release read here
    pre,   // residual + f(norm(x)): Transformer-XL with pre_lnorm
};

template <class Scalar>
struct Block {
    Dense<Scalar> out;  // joined heads -> D
    Norm<Scalar> attention_norm;
    Dense<Scalar> up, down;  // D -> F -> D
    Norm<Scalar> ffn_norm;
    Activation activation = Activation::gelu;
    double eps = 1e-12;
    NormOrder order = NormOrder::post;
};

/// context [B,T,H*d], residual [B,T,D] -> the layer's output [B,T,D]; empty where the trace was complete before.
/// Writes the stages prefix.attention, .ffn_act, .ffn and .output.  With NormOrder::pre the caller has normed what the
/// queries, keys and values were made of; `residual` is the input before that norm.
template <class Scalar>
Tensor<Scalar> finish_layer(const Block<Scalar>& block, const Tensor<Scalar>& context, const Tensor<Scalar>& residual,
                            const std::string& prefix, Trace& trace,
                            const Operations<Scalar>& compute = cpu_operations<Scalar>());

/// x [B,T,in] through a dense layer, heads split -> [B,H,T,out/H].
template <class Scalar>
Tensor<Scalar> project_heads(const Tensor<Scalar>& x, const Dense<Scalar>& layer, Index heads,
                             const Operations<Scalar>& compute = cpu_operations<Scalar>());

}  // namespace locus
