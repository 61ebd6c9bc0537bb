#include "core/training/replaced_tokens.h"

#include <cmath>

#include "core/training/parameters.h"
#include "core/training/training_context.h"

namespace locus {

namespace {

const std::string kDetectionHead = "mask_predictions.";

/// log(1 + e^-|z|) + max(z, 0) - z label, which no z makes overflow.
template <class Scalar>
Scalar binary_cross_entropy(Scalar z, std::int64_t label) {
    return std::max(z, Scalar(0)) - z * Scalar(label) + std::log1p(std::exp(-std::abs(z)));
}

}  // namespace

TensorShapes detection_head_tensors(const DebertaConfig& config) {
    const Index width = config.hidden_size;
    return {{kDetectionHead + "dense.weight", {width, width}},  {kDetectionHead + "dense.bias", {width}},
            {kDetectionHead + "LayerNorm.weight", {width}},     {kDetectionHead + "LayerNorm.bias", {width}},
            {kDetectionHead + "classifier.weight", {1, width}}, {kDetectionHead + "classifier.bias", {1}}};
}

template <class Scalar>
ReplacedTokensTape<Scalar> replaced_tokens_forward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                                   const PackedBatch& batch, const ConstView<Scalar>& x) {
    const HeadContext<Scalar> head(model, values, batch);
    ReplacedTokensTape<Scalar> tape;
    tape.norm_input = x;
    for (Index b = 0; b < batch.sentences(); ++b) {
        const Index first = batch.starts[static_cast<std::size_t>(b)];
        tape.norm_input.middleRows(first, batch.length(b)).rowwise() += x.row(first);
    }
    tape.norm = head.pass.norm(tape.norm_input, kDetectionHead + "LayerNorm");
    tape.act_in = head.pass.dense(tape.norm, kDetectionHead + "dense");
    tape.act = head.pass.activate(tape.act_in, model.config().hidden_act);
    tape.logits = head.pass.dense(tape.act, kDetectionHead + "classifier").col(0).transpose();
    for (Index n = 0; n < batch.rows(); ++n) {
        const auto at = static_cast<std::size_t>(n);
        if (!batch.visible.empty() && !batch.visible[at]) continue;
        const bool replaced = !batch.labels.empty() && batch.labels[at] > 0 && batch.labels[at] != batch.tokens[at];
        tape.rows.push_back(n);
        tape.labels.push_back(replaced ? 1 : 0);
        tape.losses.push_back(binary_cross_entropy<Scalar>(tape.logits[n], tape.labels.back()));
    }
    return tape;
}

template <class Scalar>
Matrix<Scalar> replaced_tokens_backward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                        const PackedBatch& batch, const ReplacedTokensTape<Scalar>& tape, Scalar factor,
                                        Parameters<Scalar>& gradients) {
    const HeadContext<Scalar> head(model, values, batch);
    // d loss / d z = sigmoid(z) - label.
    Matrix<Scalar> d_logits = Matrix<Scalar>::Zero(batch.rows(), 1);
    for (std::size_t m = 0; m < tape.rows.size(); ++m)
        d_logits(tape.rows[m], 0) = factor / Scalar(tape.rows.size()) *
                                    (1 / (1 + std::exp(-tape.logits[tape.rows[m]])) - Scalar(tape.labels[m]));
    Matrix<Scalar> d_act = head.pass.dense_backward(tape.act, kDetectionHead + "classifier", d_logits, gradients);
    head.pass.activate_backward(tape.act_in, model.config().hidden_act, d_act);
    const Matrix<Scalar> d_norm = head.pass.dense_backward(tape.norm, kDetectionHead + "dense", d_act, gradients);
    Matrix<Scalar> d_x = head.pass.norm_backward(tape.norm_input, kDetectionHead + "LayerNorm", d_norm, gradients);
    for (Index b = 0; b < batch.sentences(); ++b) {
        const Index first = batch.starts[static_cast<std::size_t>(b)];
        d_x.row(first) +=
            d_x.middleRows(first, batch.length(b)).colwise().sum().eval();  // it was added to each of them
    }
    return d_x;
}

template <class Scalar>
double detection_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch,
                      const Dropout& dropout, Scalar factor, Parameters<Scalar>& gradients) {
    check_batch(batch, model.config().vocab_size);
    const DebertaTape<Scalar> tape = model.forward(values, batch, model.embedding_sum(values, batch), dropout);
    const ReplacedTokensTape<Scalar> head = replaced_tokens_forward<Scalar>(model, values, batch, *tape.output);
    const Matrix<Scalar> d_output = replaced_tokens_backward<Scalar>(model, values, batch, head, factor, gradients);
    const Matrix<Scalar> d_sum = model.backward(values, batch, tape, dropout, d_output, gradients);
    model.embedding_sum_backward(values, batch, d_sum, gradients);
    return mean_loss(head.losses);
}

template <class Scalar>
PackedBatch replace_tokens(const PackedBatch& masked, const MaskedWordsTape<Scalar>& generator, double temperature,
                           RandomStream& random) {
    LOCUS_CHECK(temperature > 0, "the temperature is " + std::to_string(temperature) + ", expected a number above 0");
    PackedBatch replaced = masked;
    for (Index m = 0; m < generator.logits.rows(); ++m) {
        const auto logits = generator.logits.row(m).template cast<double>() / temperature;
        const Eigen::RowVectorXd weights = (logits.array() - logits.maxCoeff()).exp();
        double left = random.uniform() * weights.sum();
        Index word = 0;
        while (word + 1 < weights.size() && left >= weights[word]) left -= weights[word++];
        replaced.tokens[static_cast<std::size_t>(generator.rows[static_cast<std::size_t>(m)])] = word;
    }
    return replaced;
}

template <class Scalar>
Parameters<Scalar> discriminator_values(const Parameters<Scalar>& generator, const Parameters<Scalar>& discriminator,
                                        EmbeddingSharing sharing) {
    Parameters<Scalar> seen = discriminator;
    for (const char* table : {kWordTable, kAbsoluteTable}) {
        if (sharing == EmbeddingSharing::none || !seen.has(table) || !generator.has(table)) continue;
        if (sharing == EmbeddingSharing::es) seen.row(table).setZero();
        seen.row(table) += generator.row(table);
    }
    return seen;
}

template <class Scalar>
void share_gradients(Parameters<Scalar>& discriminator_gradients, Parameters<Scalar>& generator_gradients,
                     EmbeddingSharing sharing) {
    if (sharing != EmbeddingSharing::es) return;
    for (const char* table : {kWordTable, kAbsoluteTable}) {
        if (!discriminator_gradients.has(table) || !generator_gradients.has(table)) continue;
        generator_gradients.row(table) += discriminator_gradients.row(table);
        discriminator_gradients.row(table).setZero();
    }
}

template struct ReplacedTokensTape<float>;
template struct ReplacedTokensTape<double>;
template ReplacedTokensTape<float> replaced_tokens_forward<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                                  const PackedBatch&, const ConstView<float>&);
template Matrix<float> replaced_tokens_backward<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                       const PackedBatch&, const ReplacedTokensTape<float>&, float,
                                                       Parameters<float>&);
template double detection_step<float>(DebertaTraining<float>&, const Parameters<float>&, const PackedBatch&,
                                      const Dropout&, float, Parameters<float>&);
template PackedBatch replace_tokens<float>(const PackedBatch&, const MaskedWordsTape<float>&, double, RandomStream&);
template Parameters<float> discriminator_values<float>(const Parameters<float>&, const Parameters<float>&,
                                                       EmbeddingSharing);
template void share_gradients<float>(Parameters<float>&, Parameters<float>&, EmbeddingSharing);
template ReplacedTokensTape<double> replaced_tokens_forward<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                                    const PackedBatch&, const ConstView<double>&);
template Matrix<double> replaced_tokens_backward<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                         const PackedBatch&, const ReplacedTokensTape<double>&, double,
                                                         Parameters<double>&);
template double detection_step<double>(DebertaTraining<double>&, const Parameters<double>&, const PackedBatch&,
                                       const Dropout&, double, Parameters<double>&);
template PackedBatch replace_tokens<double>(const PackedBatch&, const MaskedWordsTape<double>&, double, RandomStream&);
template Parameters<double> discriminator_values<double>(const Parameters<double>&, const Parameters<double>&,
                                                         EmbeddingSharing);
template void share_gradients<double>(Parameters<double>&, Parameters<double>&, EmbeddingSharing);

}  // namespace locus
