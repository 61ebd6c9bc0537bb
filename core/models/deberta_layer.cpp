#include "core/models/deberta_pass.h"

namespace locus {

namespace {

template <class Scalar>
Tensor<Scalar> like(const Tensor<Scalar>& shaped, Index width, const Matrix<Scalar>& rows) {
    Tensor<Scalar> tensor({shaped.extent(0), shaped.extent(1), width});
    tensor.rows() = rows;
    return tensor;
}

}  // namespace

template <class Scalar>
Tensor<Scalar> deberta_layer(const DebertaPass<Scalar>& pass, const std::string& prefix, Index layer,
                             const Tensor<Scalar>& kv, const Tensor<Scalar>& query, bool output_needed) {
    const DebertaConfig& config = pass.config();
    const std::string names = layer_prefix(layer);
    const bool needs_ffn = output_needed || pass.trace.wants(prefix + ".ffn");
    const bool needs_act = needs_ffn || pass.trace.wants(prefix + ".ffn_act");
    const bool needs_attention = needs_act || pass.trace.wants(prefix + ".attention");
    const Tensor<Scalar> context = deberta_attention(pass, prefix, layer, kv, query, needs_attention);
    if (!needs_attention) return {};

    const Matrix<Scalar> attention =
        layer_norm<Scalar>(dense<Scalar>(context.rows(), pass.weights.dense(names + "attention.output.dense")) +
                               Matrix<Scalar>(query.rows()),
                           pass.weights.norm(names + "attention.output.LayerNorm"), config.layer_norm_eps);
    pass.trace.add(prefix + ".attention", like(query, config.hidden_size, attention));
    if (!needs_act) return {};
    const Matrix<Scalar> ffn_act =
        activate<Scalar>(dense<Scalar>(attention, pass.weights.dense(names + "intermediate.dense")), config.hidden_act);
    pass.trace.add(prefix + ".ffn_act", like(query, config.intermediate_size, ffn_act));
    if (!needs_ffn) return {};
    const Matrix<Scalar> ffn = dense<Scalar>(ffn_act, pass.weights.dense(names + "output.dense"));
    pass.trace.add(prefix + ".ffn", like(query, config.hidden_size, ffn));
    if (!output_needed) return {};
    return like(
        query, config.hidden_size,
        layer_norm<Scalar>(ffn + attention, pass.weights.norm(names + "output.LayerNorm"), config.layer_norm_eps));
}

template <class Scalar>
Tensor<Scalar> deberta_convolution(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& embeddings,
                                   const Tensor<Scalar>& layer_output) {
    const DebertaConfig& config = pass.config();
    const Index length = pass.input.length();
    const Matrix<Scalar> visible = visible_tokens<Scalar>(pass.input);
    Tensor<Scalar> convolved(embeddings.shape());
    for (Index b = 0; b < embeddings.extent(0); ++b)
        convolved.matrix(b) = convolve<Scalar>(embeddings.matrix(b), pass.weights.convolution());
    pass.trace.add("layer.0.conv", convolved);
    for (Index n = 0; n < visible.size(); ++n) convolved.rows().row(n) *= visible.data()[n];
    convolved.rows() = activate<Scalar>(convolved.rows(), config.conv_act);
    pass.trace.add("layer.0.conv_act", convolved);

    Tensor<Scalar> merged(embeddings.shape());
    merged.rows() = layer_norm<Scalar>(layer_output.rows() + convolved.rows(),
                                       pass.weights.norm("encoder.conv.LayerNorm"), config.layer_norm_eps);
    // This norm, unlike those inside the layers, is followed by the mask.
    for (Index n = 0; n < visible.size(); ++n) merged.matrix(n / length).row(n % length) *= visible.data()[n];
    return merged;
}

template Tensor<float> deberta_layer<float>(const DebertaPass<float>&, const std::string&, Index, const Tensor<float>&,
                                            const Tensor<float>&, bool);
template Tensor<double> deberta_layer<double>(const DebertaPass<double>&, const std::string&, Index,
                                              const Tensor<double>&, const Tensor<double>&, bool);
template Tensor<float> deberta_convolution<float>(const DebertaPass<float>&, const Tensor<float>&,
                                                  const Tensor<float>&);
template Tensor<double> deberta_convolution<double>(const DebertaPass<double>&, const Tensor<double>&,
                                                    const Tensor<double>&);

}  // namespace locus
