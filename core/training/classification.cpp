#include "core/training/classification.h"

#include "core/models/word_logits.h"
#include "core/training/masked_words.h"
#include "core/training/training_context.h"

namespace locus {

namespace {

const std::string kPooler = "pooler.dense", kClassifier = "classifier";
// Two places of one head: the numbers of their masks must differ.
constexpr Index kBeforePooler = 0, kAfterPooler = 1;

Activation pooler_activation(const DebertaConfig& config) {
    Activation activation;
    if (parse_activation(config.pooler_hidden_act, activation)) return activation;
    throw Error(Fault::unsupported,
                "pooler_hidden_act is \"" + config.pooler_hidden_act + "\", expected " + kActivationNames);
}

}  // namespace

TensorShapes classification_head_tensors(const DebertaConfig& config, Index classes) {
    LOCUS_CHECK(classes >= 2, "a classifier of " + std::to_string(classes) + " classes, expected 2 or more");
    const Index width = config.hidden_size;
    return {{kPooler + ".weight", {width, width}},
            {kPooler + ".bias", {width}},
            {kClassifier + ".weight", {classes, width}},
            {kClassifier + ".bias", {classes}}};
}

template <class Scalar>
ClassificationTape<Scalar> classification_forward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                                  const PackedBatch& batch, const std::vector<std::int64_t>& labels,
                                                  const Dropout& dropout, const ConstView<Scalar>& x) {
    LOCUS_CHECK(labels.empty() || static_cast<Index>(labels.size()) == batch.sentences(),
                std::to_string(labels.size()) + " labels for " + std::to_string(batch.sentences()) +
                    " texts, expected one for each");
    const HeadContext<Scalar> head(model, values, batch);
    ClassificationTape<Scalar> tape;
    tape.first.resize(batch.sentences(), x.cols());
    for (Index b = 0; b < batch.sentences(); ++b) tape.first.row(b) = x.row(batch.starts[static_cast<std::size_t>(b)]);
    const auto drop_head = [&](Index place, Matrix<Scalar>& rows) {
        drop<Scalar>(dropout.site_seed(DropoutSite::head, place), dropout.hidden, rows, model.pool());
    };
    drop_head(kBeforePooler, tape.first);
    tape.act_in = head.pass.dense(tape.first, kPooler);
    tape.pooled = head.pass.activate(tape.act_in, pooler_activation(model.config()));
    drop_head(kAfterPooler, tape.pooled);
    tape.logits = head.pass.dense(tape.pooled, kClassifier);
    for (std::size_t b = 0; b < labels.size(); ++b)
        tape.losses.push_back(cross_entropy<Scalar>(tape.logits.row(static_cast<Index>(b)), labels[b]));
    return tape;
}

template <class Scalar>
Matrix<Scalar> classification_backward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                       const PackedBatch& batch, const std::vector<std::int64_t>& labels,
                                       const Dropout& dropout, const ClassificationTape<Scalar>& tape,
                                       Parameters<Scalar>& gradients) {
    const HeadContext<Scalar> head(model, values, batch);
    Matrix<Scalar> d_logits(tape.logits.rows(), tape.logits.cols());
    for (Index b = 0; b < d_logits.rows(); ++b)
        d_logits.row(b) = cross_entropy_backward<Scalar>(tape.logits.row(b), labels[static_cast<std::size_t>(b)]) /
                          Scalar(d_logits.rows());
    const auto drop_head = [&](Index place, Matrix<Scalar>& rows) {
        drop<Scalar>(dropout.site_seed(DropoutSite::head, place), dropout.hidden, rows, model.pool());
    };
    Matrix<Scalar> d_pooled = head.pass.dense_backward(tape.pooled, kClassifier, d_logits, gradients);
    drop_head(kAfterPooler, d_pooled);
    head.pass.activate_backward(tape.act_in, pooler_activation(model.config()), d_pooled);
    Matrix<Scalar> d_first = head.pass.dense_backward(tape.first, kPooler, d_pooled, gradients);
    drop_head(kBeforePooler, d_first);
    Matrix<Scalar> d_x = Matrix<Scalar>::Zero(batch.rows(), model.config().hidden_size);
    for (Index b = 0; b < batch.sentences(); ++b) d_x.row(batch.starts[static_cast<std::size_t>(b)]) = d_first.row(b);
    return d_x;
}

template <class Scalar>
double classification_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch,
                           const std::vector<std::int64_t>& labels, const Dropout& dropout,
                           Parameters<Scalar>& gradients) {
    check_batch(batch, model.config().vocab_size);
    LOCUS_CHECK(!labels.empty(), "0 labels for " + std::to_string(batch.sentences()) + " texts, expected one for each");
    const DebertaTape<Scalar> tape = model.forward(values, batch, model.embedding_sum(values, batch), dropout);
    const auto head = classification_forward<Scalar>(model, values, batch, labels, dropout, *tape.output);
    const Matrix<Scalar> d_output =
        classification_backward<Scalar>(model, values, batch, labels, dropout, head, gradients);
    model.embedding_sum_backward(values, batch, model.backward(values, batch, tape, dropout, d_output, gradients),
                                 gradients);
    return mean_loss(head.losses);
}

template <class Scalar>
std::vector<std::int64_t> classify(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                   const PackedBatch& batch) {
    const DebertaTape<Scalar> tape = model.forward(values, batch, model.embedding_sum(values, batch), Dropout{});
    const auto head = classification_forward<Scalar>(model, values, batch, {}, Dropout{}, *tape.output);
    std::vector<std::int64_t> classes;
    for (Index b = 0; b < head.logits.rows(); ++b) {
        Index best = 0;
        head.logits.row(b).maxCoeff(&best);
        classes.push_back(best);
    }
    return classes;
}

template struct ClassificationTape<float>;
template ClassificationTape<float> classification_forward<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                                 const PackedBatch&, const std::vector<std::int64_t>&,
                                                                 const Dropout&, const ConstView<float>&);
template Matrix<float> classification_backward<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                      const PackedBatch&, const std::vector<std::int64_t>&,
                                                      const Dropout&, const ClassificationTape<float>&,
                                                      Parameters<float>&);
template double classification_step<float>(DebertaTraining<float>&, const Parameters<float>&, const PackedBatch&,
                                           const std::vector<std::int64_t>&, const Dropout&, Parameters<float>&);
template std::vector<std::int64_t> classify<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                   const PackedBatch&);
template struct ClassificationTape<double>;
template ClassificationTape<double> classification_forward<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                                   const PackedBatch&, const std::vector<std::int64_t>&,
                                                                   const Dropout&, const ConstView<double>&);
template Matrix<double> classification_backward<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                        const PackedBatch&, const std::vector<std::int64_t>&,
                                                        const Dropout&, const ClassificationTape<double>&,
                                                        Parameters<double>&);
template double classification_step<double>(DebertaTraining<double>&, const Parameters<double>&, const PackedBatch&,
                                            const std::vector<std::int64_t>&, const Dropout&, Parameters<double>&);
template std::vector<std::int64_t> classify<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                    const PackedBatch&);

}  // namespace locus
