// What stands behind attention in RoFormer, Transformer-XL and XLNet: dense, residual, norm, feed-forward.
#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

namespace {

Matrix<double> plus(const Matrix<double>& rows, const Tensor<double>& residual) {
    if (rows.rows() != residual.rows().rows() || rows.cols() != residual.rows().cols())
        throw NotEnough{"a residual of " + to_string(residual.shape())};
    return rows + Matrix<double>(residual.rows());
}

Tensor<double> attention_of(const Replay& at, const BlockWeights& weights) {
    const Matrix<double> sum = plus(dense<double>(at("context").rows(), weights.out(at)), at("x_q"));
    return shaped(at("x_q"),
                  weights.norm_first(at) ? sum : layer_norm<double>(sum, weights.attention_norm(at), weights.eps(at)));
}

Tensor<double> ffn_act_of(const Replay& at, const BlockWeights& weights) {
    Matrix<double> x = at("attention").rows();
    if (weights.norm_first(at)) x = layer_norm<double>(x, weights.ffn_norm(at), weights.eps(at));
    return shaped(at("attention"), activate<double>(dense<double>(x, weights.up(at)), weights.activation(at)));
}

Tensor<double> output_of(const Replay& at, const BlockWeights& weights) {
    const Matrix<double> sum = plus(at("ffn").rows(), at("attention"));
    return shaped(at("attention"),
                  weights.norm_first(at) ? sum : layer_norm<double>(sum, weights.ffn_norm(at), weights.eps(at)));
}

}  // namespace

std::vector<Formula> block_formulas(const BlockWeights& weights) {
    return {
        {"attention", {"context", "x_q"}, [=](const Replay& at) { return attention_of(at, weights); }},
        {"ffn_act", {"attention"}, [=](const Replay& at) { return ffn_act_of(at, weights); }},
        {"ffn",
         {"ffn_act"},
         [=](const Replay& at) {
             return shaped(at("ffn_act"), dense<double>(at("ffn_act").rows(), weights.down(at)));
         }},
        {"output", {"ffn", "attention"}, [=](const Replay& at) { return output_of(at, weights); }},
    };
}

}  // namespace locus::conformance
