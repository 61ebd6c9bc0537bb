#pragma once
// The backward pass of a whole DeBERTa: from the loss through the head, the decoder and the layers to the embeddings.
// dX stands for the gradient of the loss with respect to X.
//
// Steps that stand in many places, a norm or an activation, are rules: the same formulas are built with the right rule
// and with wrong ones.  What a layer read is the place that the layer before gave, so "grad.layer.0.output" is "grad.x"
// in the scope "layer.1.".
#include <functional>

#include "core/conformance/formulas/formulas.h"
#include "core/models/layers.h"

namespace locus::conformance {

/// A layer norm passed backwards: x, d_y [N,D] -> d_x [N,D], d_weight and d_bias [D].  Right: right_norm.
using NormRule = std::function<NormGradients<double>(const Matrix<double>& x, const Norm<double>& norm, double eps,
                                                     const Matrix<double>& d_y)>;
NormGradients<double> right_norm(const Matrix<double>& x, const Norm<double>& norm, double eps,
                                 const Matrix<double>& d_y);

/// One of the norms of the pass: in the head, twice in a layer, behind the convolution, the embeddings and the table.
struct NormPlace {
    std::string name;                 // in a checkpoint, "#" for the number of the layer
    std::string below, above;         // stems of the gradients of what it read and of what it gave
    std::vector<std::string> inputs;  // stems that its own input is made of
    std::function<Matrix<double>(const Replay&)> x;
    std::function<Norm<double>(const Replay&)> norm;
};
const std::vector<NormPlace>& norm_places();
/// What the norms of the pass hand back.
std::vector<Formula> norm_steps(const NormRule& rule);

/// An activation passed backwards: x (before it) and d_y [N,F] -> d_x [N,F].  Right: activate_backward.
using ActivationRule =
    std::function<Matrix<double>(const Matrix<double>& x, Activation activation, const Matrix<double>& d_y)>;
/// What the activations of the pass hand back: of the head, of feed-forward parts and of the convolution.
std::vector<Formula> activation_steps(const ActivationRule& rule);

/// Which tokens have a loss, the gradient of their logits, and what that is divided by.
struct LossRule {
    /// Of one target: logits [V] -> [V], before it is divided.  Right: softmax - onehot.
    std::function<RowVector<double>(const RowVector<double>& logits, std::int64_t label)> of_logits;
    /// Right: label > 0.
    std::function<bool(std::int64_t label)> counts;
    /// For targets of sample b.  Right: how many targets all samples have.
    std::function<double(const Replay& at, Index b)> divisor;
};
LossRule right_loss();
/// mlm.logits -> its gradient [B,T,V], 0 where there is no target.  Throws NotEnough without labels.
Tensor<double> gradient_of_logits(const Replay& at, const LossRule& rule);
/// How many tokens of sample b have a label > 0; of all samples where b is -1.
Index targets_in(const Replay& at, Index b = -1);

/// True if the stages show that the mask decoder ran.
bool decoder_runs(const Replay& at);
/// The scopes that the loss depends on, in their order: layers, then passes of the decoder.
std::vector<std::string> uses_of_model(const Replay& at);
/// Those of the parameters of this scope's layer: the scope, or of a decoder's layer its passes.
std::vector<std::string> uses_of_layer(const Replay& at);

/// What a layer hands back to the rows that it read, [B,T,D]: through its queries, its keys or its values (part 0, 1
/// or 2).  Around attention it hands back "grad.attention_sum".
Tensor<double> through_projection(const Replay& at, int part);
/// What a scope hands back to the relative table [2k,D] through its position keys, or its position queries; zeros
/// where the model has no such term.
Matrix<double> through_table(const Replay& use, bool keys);
/// The gradient of the table after its norm, from these scopes.
Tensor<double> gradient_of_table(const Replay& at, const std::vector<std::string>& scopes, bool keys, bool queries);

/// Heads side by side: [B,H,T,d] -> [B*T,H*d], and of a table [H,R,d] -> [R,H*d].
Matrix<double> side_by_side(const Tensor<double>& heads);

std::vector<Formula> deberta_model_gradient_formulas();

}  // namespace locus::conformance
