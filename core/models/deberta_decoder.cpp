// The enhanced mask decoder.  Absolute positions enter here, after all encoder layers, through the query alone.
#include "core/models/deberta_pass.h"

namespace locus {

namespace {

std::string pass_prefix(int pass) { return "emd." + std::to_string(pass); }

/// True if a stage of decoder pass `first` or of a later one is wanted.
template <class Scalar>
bool wants_from(const DebertaPass<Scalar>& pass, int first, const std::vector<std::string>& names) {
    for (int t = first; t < kDecoderPasses; ++t)
        for (const std::string& name : names)
            if (pass.trace.wants(pass_prefix(t) + name)) return true;
    return false;
}

const std::vector<std::string>& layer_stages() {
    static const std::vector<std::string> names = {".q",     ".k",           ".v",       ".q_r",       ".k_r",
                                                   ".c2c",   ".c2p",         ".p2c",     ".scores",    ".scores_mixed",
                                                   ".probs", ".probs_mixed", ".context", ".attention", ".ffn_act",
                                                   ".ffn",   ".output"};
    return names;
}

/// Official: the last layer as it is; keys and values from h in both passes, query and residual from the pass before.
template <class Scalar>
Tensor<Scalar> official_decoder(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& h, Tensor<Scalar> query,
                                bool output_needed) {
    const Index last = pass.config().num_hidden_layers - 1;
    for (int t = 0; t < kDecoderPasses; ++t) {
        const bool later = output_needed || wants_from(pass, t + 1, layer_stages());
        if (!later && !wants_from(pass, t, layer_stages())) return {};
        const bool output = later || pass.trace.wants(pass_prefix(t) + ".output");
        query = deberta_layer(pass, pass_prefix(t), last, h, query, output);
        if (!output) return {};
        pass.trace.add(pass_prefix(t) + ".output", query);
    }
    return query;
}

/// Seed 000: a pre-norm layer.  h passes through the layer's first norm for keys and values, the query does not; the
/// residual is h in every pass; a last norm follows, which no released checkpoint has, so it stays without weights
/// here.
template <class Scalar>
Tensor<Scalar> seed_decoder(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& h, Tensor<Scalar> query) {
    const DebertaConfig& config = pass.config();
    const Operations<Scalar>& compute = pass.compute();
    const Index last = config.num_hidden_layers - 1;
    const std::string names = layer_prefix(last);
    Tensor<Scalar> normed(h.shape());
    normed.rows() =
        compute.layer_norm(h.rows(), pass.weights.norm(names + "attention.output.LayerNorm"), config.layer_norm_eps);
    for (int t = 0; t < kDecoderPasses; ++t) {
        const Tensor<Scalar> context = deberta_attention(pass, pass_prefix(t), last, normed, query, true);
        Tensor<Scalar> step(h.shape());
        step.rows() = compute.dense(context.rows(), pass.weights.dense(names + "attention.output.dense"));
        compute.add(h.rows(), step.rows());
        pass.trace.add(pass_prefix(t) + ".attention", step);
        const Matrix<Scalar> inner =
            compute.layer_norm(step.rows(), pass.weights.norm(names + "output.LayerNorm"), config.layer_norm_eps);
        const Matrix<Scalar> ffn_act =
            compute.activate(compute.dense(inner, pass.weights.dense(names + "intermediate.dense")), config.hidden_act);
        query = step;
        compute.add(compute.dense(ffn_act, pass.weights.dense(names + "output.dense")), query.rows());
        pass.trace.add(pass_prefix(t) + ".output", query);
    }
    query.rows() = compute.layer_norm(query.rows(), Norm<Scalar>{}, config.layer_norm_eps);
    return query;
}

}  // namespace

template <class Scalar>
Tensor<Scalar> deberta_decoder(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& h, bool output_needed) {
    Tensor<Scalar> query = h;
    Matrix<Scalar> absolute = pass.weights.absolute_rows(pass.input.length());
    pass.compute().multiply(Scalar(pass.options.absolute_strength), absolute);
    for (Index b = 0; b < h.extent(0); ++b) pass.compute().add(absolute, query.matrix(b));
    pass.trace.add("emd.query.0", query);
    if (pass.options.decoder == MaskDecoder::official)
        return official_decoder(pass, h, std::move(query), output_needed);
    if (!output_needed && !wants_from(pass, 0, layer_stages())) return {};
    return seed_decoder(pass, h, std::move(query));
}

template Tensor<float> deberta_decoder<float>(const DebertaPass<float>&, const Tensor<float>&, bool);
template Tensor<double> deberta_decoder<double>(const DebertaPass<double>&, const Tensor<double>&, bool);

}  // namespace locus
