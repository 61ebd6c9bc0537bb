// One layer of the encoder in training, and the convolution beside the first; and back.
#include "core/models/deberta_weights.h"
#include "core/models/layers.h"
#include "core/training/deberta_training_pass.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> layer_forward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use,
                             const Matrix<Scalar>& relative_table, LayerInside<Scalar>& inside) {
    const std::string names = layer_prefix(use.layer);
    attention_forward(pass, use, relative_table, inside);
    inside.attention_sum = pass.dense(inside.context, names + "attention.output.dense");
    pass.drop(DropoutSite::attention, use.use, inside.attention_sum);
    inside.attention_sum += *use.query;
    inside.attention = pass.norm(inside.attention_sum, names + "attention.output.LayerNorm");
    inside.ffn_in = pass.dense(inside.attention, names + "intermediate.dense");
    inside.ffn_act = pass.activate(inside.ffn_in, pass.config.hidden_act);
    inside.output_sum = pass.dense(inside.ffn_act, names + "output.dense");
    pass.drop(DropoutSite::ffn, use.use, inside.output_sum);
    inside.output_sum += inside.attention;
    return pass.norm(inside.output_sum, names + "output.LayerNorm");
}

template <class Scalar>
void layer_backward(const TrainingPass<Scalar>& pass, const LayerUse<Scalar>& use, const LayerInside<Scalar>& inside,
                    const ConstView<Scalar>& d_output, Matrix<Scalar>& d_kv, Matrix<Scalar>& d_query,
                    Matrix<Scalar>& d_relative_table, Parameters<Scalar>& gradients,
                    const StageGradients<Scalar>& stages) {
    const std::string names = layer_prefix(use.layer);
    // Two ways lead to what the feed-forward part was given: through it and around it.
    Matrix<Scalar> d_attention = pass.norm_backward(inside.output_sum, names + "output.LayerNorm", d_output, gradients);
    Matrix<Scalar> d_ffn = d_attention;
    pass.drop(DropoutSite::ffn, use.use, d_ffn);
    stages.keep(".ffn", d_ffn);
    Matrix<Scalar> d_act = pass.dense_backward(inside.ffn_act, names + "output.dense", d_ffn, gradients);
    stages.keep(".ffn_act", d_act);
    pass.activate_backward(inside.ffn_in, pass.config.hidden_act, d_act);
    pass.dense_backward(inside.attention, names + "intermediate.dense", d_act, gradients, d_attention);
    stages.keep(".attention", d_attention);

    Matrix<Scalar> d_attention_sum =
        pass.norm_backward(inside.attention_sum, names + "attention.output.LayerNorm", d_attention, gradients);
    d_query += d_attention_sum;
    pass.drop(DropoutSite::attention, use.use, d_attention_sum);
    const Matrix<Scalar> d_context =
        pass.dense_backward(inside.context, names + "attention.output.dense", d_attention_sum, gradients);
    stages.keep(".context", d_context);
    attention_backward<Scalar>(pass, use, inside, d_context, d_kv, d_query, d_relative_table, gradients, stages);
}

namespace {

template <class Scalar>
Convolution<Scalar> convolution_of(const TrainingPass<Scalar>& pass) {
    return {pass.values.matrix("encoder.conv.conv.weight"), pass.values.row("encoder.conv.conv.bias"),
            pass.config.conv_kernel_size, pass.config.conv_groups};
}

/// Runs of rows that are one sentence each.
template <class Scalar, class Work>
void by_sentence(const TrainingPass<Scalar>& pass, Work work) {
    for (Index b = 0; b < pass.batch.sentences(); ++b)
        work(pass.batch.starts[static_cast<std::size_t>(b)], pass.batch.length(b));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> convolution_forward(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                   const Matrix<Scalar>& layer_output, ConvolutionTape<Scalar>& tape) {
    const Convolution<Scalar> layer = convolution_of(pass);
    tape.before_act.resize(embeddings.rows(), embeddings.cols());
    by_sentence(pass, [&](Index row, Index rows) {
        tape.before_act.middleRows(row, rows) = convolve<Scalar>(embeddings.middleRows(row, rows), layer);
    });
    pass.hide(tape.before_act);
    pass.drop(DropoutSite::convolution, 0, tape.before_act);
    tape.sum = layer_output + pass.activate(tape.before_act, pass.config.conv_act);
    Matrix<Scalar> merged = pass.norm(tape.sum, "encoder.conv.LayerNorm");
    pass.hide(merged);
    return merged;
}

template <class Scalar>
Matrix<Scalar> convolution_backward(const TrainingPass<Scalar>& pass, const Matrix<Scalar>& embeddings,
                                    const ConvolutionTape<Scalar>& tape, const ConstView<Scalar>& d_output,
                                    Matrix<Scalar>& d_embeddings, Parameters<Scalar>& gradients) {
    Matrix<Scalar> d_merged = d_output;
    pass.hide(d_merged);
    const Matrix<Scalar> d_sum = pass.norm_backward(tape.sum, "encoder.conv.LayerNorm", d_merged, gradients);
    Matrix<Scalar> d_convolved = d_sum;
    pass.activate_backward(tape.before_act, pass.config.conv_act, d_convolved);
    pass.drop(DropoutSite::convolution, 0, d_convolved);
    pass.hide(d_convolved);
    const Convolution<Scalar> layer = convolution_of(pass);
    by_sentence(pass, [&](Index row, Index rows) {
        const ConvolutionGradients<Scalar> grad =
            convolve_backward<Scalar>(embeddings.middleRows(row, rows), layer, d_convolved.middleRows(row, rows));
        d_embeddings.middleRows(row, rows) += grad.x;
        if (!gradients.has("encoder.conv.conv.weight")) return;
        gradients.matrix("encoder.conv.conv.weight") += grad.weight;
        gradients.row("encoder.conv.conv.bias") += grad.bias;
    });
    return d_sum;
}

template Matrix<float> layer_forward<float>(const TrainingPass<float>&, const LayerUse<float>&, const Matrix<float>&,
                                            LayerInside<float>&);
template Matrix<double> layer_forward<double>(const TrainingPass<double>&, const LayerUse<double>&,
                                              const Matrix<double>&, LayerInside<double>&);
template void layer_backward<float>(const TrainingPass<float>&, const LayerUse<float>&, const LayerInside<float>&,
                                    const ConstView<float>&, Matrix<float>&, Matrix<float>&, Matrix<float>&,
                                    Parameters<float>&, const StageGradients<float>&);
template void layer_backward<double>(const TrainingPass<double>&, const LayerUse<double>&, const LayerInside<double>&,
                                     const ConstView<double>&, Matrix<double>&, Matrix<double>&, Matrix<double>&,
                                     Parameters<double>&, const StageGradients<double>&);
template Matrix<float> convolution_forward<float>(const TrainingPass<float>&, const Matrix<float>&,
                                                  const Matrix<float>&, ConvolutionTape<float>&);
template Matrix<double> convolution_forward<double>(const TrainingPass<double>&, const Matrix<double>&,
                                                    const Matrix<double>&, ConvolutionTape<double>&);
template Matrix<float> convolution_backward<float>(const TrainingPass<float>&, const Matrix<float>&,
                                                   const ConvolutionTape<float>&, const ConstView<float>&,
                                                   Matrix<float>&, Parameters<float>&);
template Matrix<double> convolution_backward<double>(const TrainingPass<double>&, const Matrix<double>&,
                                                     const ConvolutionTape<double>&, const ConstView<double>&,
                                                     Matrix<double>&, Parameters<double>&);

}  // namespace locus
