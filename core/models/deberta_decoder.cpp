// The enhanced mask decoder and the masked-word head.
// He et al. 2021, section 3.2: absolute positions enter here, through the query and its residual, never through keys
// and values.  In the paper after all encoder layers; in the code the last layer runs again on its own input.
#include "core/models/block.h"
#include "core/models/deberta.h"
#include "core/models/language_head.h"

namespace locus {

namespace {

/// "emd.0" and "emd.1".
std::string pass_prefix(int pass) { return "emd." + std::to_string(pass); }

/// Official: the last layer as is, twice.  Keys and values come from h in both passes; query and residual are the
/// output of the pass before.
template <class Scalar>
Tensor<Scalar> official_decoder(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& h, Tensor<Scalar> query) {
    const Index last = pass.config().num_hidden_layers - 1;
    for (int t = 0; t < kDecoderPasses; ++t) {
        query = deberta_layer(pass, pass_prefix(t), last, h, query);
        if (pass.trace.complete()) return {};
        pass.trace.add(pass_prefix(t) + ".output", query);
    }
    return query;
}

/// The layer of qcqced123/model_study, pre-norm.  Its residual is h in every pass, and a last norm follows, which
/// no released checkpoint has, so it stays without weights here.
template <class Scalar>
Tensor<Scalar> pre_norm_decoder(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& h, Tensor<Scalar> query) {
    const DebertaConfig& config = pass.config();
    const Operations<Scalar>& compute = pass.compute();
    const double eps = config.layer_norm_eps;
    const Index last = config.num_hidden_layers - 1;
    const std::string names = layer_prefix(last);

    // h passes through the layer's first norm for keys and values; the query does not.
    const Tensor<Scalar> normed = as_tensor<Scalar>(
        h.shape(), compute.layer_norm(h.rows(), pass.weights.norm(names + "attention.output.LayerNorm"), eps));
    for (int t = 0; t < kDecoderPasses; ++t) {
        // attention = h + dense(context).
        const Tensor<Scalar> context = deberta_attention(pass, pass_prefix(t), last, normed, query);
        if (pass.trace.complete()) return {};
        Matrix<Scalar> attention = compute.dense(context.rows(), pass.weights.dense(names + "attention.output.dense"));
        compute.add(h.rows(), attention);
        pass.trace.add(pass_prefix(t) + ".attention", as_tensor<Scalar>(h.shape(), attention));

        // output = attention + dense(activation(dense(norm(attention)))), the query of the next pass.
        const Matrix<Scalar> inner = compute.layer_norm(attention, pass.weights.norm(names + "output.LayerNorm"), eps);
        const Matrix<Scalar> ffn_act =
            compute.activate(compute.dense(inner, pass.weights.dense(names + "intermediate.dense")), config.hidden_act);
        query.rows() = attention;
        compute.add(compute.dense(ffn_act, pass.weights.dense(names + "output.dense")), query.rows());
        pass.trace.add(pass_prefix(t) + ".output", query);
    }
    query.rows() = compute.layer_norm(query.rows(), Norm<Scalar>{}, eps);
    return query;
}

}  // namespace

template <class Scalar>
Tensor<Scalar> deberta_decoder(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& h) {
    // Query of the first pass: I + h, the absolute position of every token added to what the encoder knows of it.
    Matrix<Scalar> absolute = pass.weights.absolute_rows(pass.input.length());
    pass.compute().multiply(Scalar(pass.options.absolute_strength), absolute);
    Tensor<Scalar> query = h;
    for (Index b = 0; b < h.extent(0); ++b) pass.compute().add(absolute, query.matrix(b));
    pass.trace.add("emd.query.0", query);
    if (pass.trace.complete()) return {};
    return pass.options.decoder == MaskDecoder::official ? official_decoder(pass, h, std::move(query))
                                                         : pre_norm_decoder(pass, h, std::move(query));
}

template <class Scalar>
void deberta_head(const ForwardContext<Scalar>& pass, const Tensor<Scalar>& x) {
    // Masked words are predicted with the word table as output matrix, unless the head has one of its own.
    const DebertaConfig& config = pass.config();
    MaskedWordHead<Scalar> head;
    head.dense = pass.weights.dense(pass.weights.head_dense());
    head.norm = pass.weights.norm(pass.weights.head_norm());
    head.activation = config.hidden_act;
    head.eps = config.layer_norm_eps;
    head.table = [&](Index first, Index count) { return pass.weights.output_block(first, count); };
    head.words = config.vocab_size;
    head.bias = pass.weights.head_bias();
    masked_words(head, pass.input, x, pass.trace, pass.compute());
}

template Tensor<float> deberta_decoder<float>(const ForwardContext<float>&, const Tensor<float>&);
template Tensor<double> deberta_decoder<double>(const ForwardContext<double>&, const Tensor<double>&);
template void deberta_head<float>(const ForwardContext<float>&, const Tensor<float>&);
template void deberta_head<double>(const ForwardContext<double>&, const Tensor<double>&);

}  // namespace locus
