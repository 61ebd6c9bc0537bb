#include "core/models/deberta_pass.h"
#include "core/models/fast_encoder.h"

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
    // The same output without its inside, for passes where nobody looks there.
    if (pass.fast) return pass.fast->encoder.layer_output(layer, kv, query, &pass.masks, pass.options, pass.fast->pool);

    const DebertaConfig& config = pass.config();
    const Operations<Scalar>& compute = pass.compute();
    const std::string names = layer_prefix(layer);
    const bool needs_ffn = output_needed || pass.trace.wants(prefix + ".ffn");
    const bool needs_act = needs_ffn || pass.trace.wants(prefix + ".ffn_act");
    const bool needs_attention = needs_act || pass.trace.wants(prefix + ".attention");
    const Tensor<Scalar> context = deberta_attention(pass, prefix, layer, kv, query, needs_attention);
    if (!needs_attention) return {};

    Matrix<Scalar> summed = compute.dense(context.rows(), pass.weights.dense(names + "attention.output.dense"));
    compute.add(query.rows(), summed);
    const Matrix<Scalar> attention =
        compute.layer_norm(summed, pass.weights.norm(names + "attention.output.LayerNorm"), config.layer_norm_eps);
    pass.trace.add(prefix + ".attention", like(query, config.hidden_size, attention));
    if (!needs_act) return {};
    const Matrix<Scalar> ffn_act =
        compute.activate(compute.dense(attention, pass.weights.dense(names + "intermediate.dense")), config.hidden_act);
    pass.trace.add(prefix + ".ffn_act", like(query, config.intermediate_size, ffn_act));
    if (!needs_ffn) return {};
    const Matrix<Scalar> ffn = compute.dense(ffn_act, pass.weights.dense(names + "output.dense"));
    pass.trace.add(prefix + ".ffn", like(query, config.hidden_size, ffn));
    if (!output_needed) return {};
    summed = ffn;
    compute.add(attention, summed);
    return like(query, config.hidden_size,
                compute.layer_norm(summed, pass.weights.norm(names + "output.LayerNorm"), config.layer_norm_eps));
}

template <class Scalar>
Tensor<Scalar> deberta_convolution(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& embeddings,
                                   const Tensor<Scalar>& layer_output) {
    const DebertaConfig& config = pass.config();
    const Operations<Scalar>& compute = pass.compute();
    const RowVector<Scalar> visible = visible_tokens<Scalar>(pass.input);
    Tensor<Scalar> convolved(embeddings.shape());
    for (Index b = 0; b < embeddings.extent(0); ++b)
        convolved.matrix(b) = compute.convolve(embeddings.matrix(b), pass.weights.convolution());
    pass.trace.add("layer.0.conv", convolved);
    if (visible.size() > 0) compute.multiply_rows(visible, convolved.rows());
    convolved.rows() = compute.activate(convolved.rows(), config.conv_act);
    pass.trace.add("layer.0.conv_act", convolved);

    Matrix<Scalar> summed = layer_output.rows();
    compute.add(convolved.rows(), summed);
    Tensor<Scalar> merged(embeddings.shape());
    merged.rows() = compute.layer_norm(summed, pass.weights.norm("encoder.conv.LayerNorm"), config.layer_norm_eps);
    // This norm, unlike those inside the layers, is followed by the mask.
    if (visible.size() > 0) compute.multiply_rows(visible, merged.rows());
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
