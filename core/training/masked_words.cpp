#include "core/training/masked_words.h"

#include <algorithm>
#include <cmath>

#include "core/models/word_logits.h"
#include "core/training/parameters.h"
#include "core/training/training_context.h"

namespace locus {

namespace {

const std::string kHead = kMaskedWordHead;

}  // namespace

template <class Scalar>
MaskedWordsTape<Scalar> masked_words_forward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                             const PackedBatch& batch, const ConstView<Scalar>& x) {
    MaskedWordsTape<Scalar> tape;
    for (std::size_t n = 0; n < batch.labels.size(); ++n) {
        if (batch.labels[n] <= 0) continue;
        tape.rows.push_back(static_cast<Index>(n));
        tape.labels.push_back(batch.labels[n]);
    }
    const auto targets = static_cast<Index>(tape.rows.size());
    tape.x.resize(targets, x.cols());
    for (Index m = 0; m < targets; ++m) tape.x.row(m) = x.row(tape.rows[static_cast<std::size_t>(m)]);
    const HeadContext<Scalar> head(model, values, batch);
    tape.act_in = head.pass.dense(tape.x, kHead + "dense");
    tape.norm_input = head.pass.activate(tape.act_in, model.config().hidden_act);
    tape.transformed = head.pass.norm(tape.norm_input, kHead + "LayerNorm");
    tape.logits.resize(targets, model.config().vocab_size);
    tape.logits.rowwise() = values.row(kHead + "bias");
    multiply_blocks<Scalar>(Product::abt, tape.transformed, values.matrix(kWordTable), true, tape.logits,
                            model.buffers(), model.pool());
    tape.losses.resize(tape.rows.size());
    model.pool().parallel_for(targets, [&](Index m, int) {
        const auto at = static_cast<std::size_t>(m);
        tape.losses[at] = cross_entropy<Scalar>(tape.logits.row(m), tape.labels[at]);
    });
    return tape;
}

template <class Scalar>
Matrix<Scalar> mean_loss_backward(const MaskedWordsTape<Scalar>& tape, ThreadPool& pool, Scalar factor) {
    Matrix<Scalar> d_logits(tape.logits.rows(), tape.logits.cols());
    const Scalar share = factor / Scalar(std::max<Index>(1, d_logits.rows()));
    pool.parallel_for(d_logits.rows(), [&](Index m, int) {
        d_logits.row(m) =
            share * cross_entropy_backward<Scalar>(tape.logits.row(m), tape.labels[static_cast<std::size_t>(m)]);
    });
    return d_logits;
}

template <class Scalar>
Matrix<Scalar> masked_words_backward(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                     const PackedBatch& batch, const MaskedWordsTape<Scalar>& tape,
                                     const ConstView<Scalar>& d_logits, Parameters<Scalar>& gradients) {
    const HeadContext<Scalar> head(model, values, batch);
    Matrix<Scalar> d_x = Matrix<Scalar>::Zero(batch.rows(), model.config().hidden_size);
    if (tape.rows.empty()) return d_x;
    Matrix<Scalar> d_transformed(tape.transformed.rows(), tape.transformed.cols());
    multiply_blocks<Scalar>(Product::ab, d_logits, values.matrix(kWordTable), false, d_transformed, model.buffers(),
                            model.pool());
    if (gradients.has(kWordTable))
        multiply_blocks<Scalar>(Product::atb, d_logits, tape.transformed, true, gradients.matrix(kWordTable),
                                model.buffers(), model.pool());
    if (gradients.has(kHead + "bias")) gradients.row(kHead + "bias") += d_logits.colwise().sum();
    Matrix<Scalar> d_act = head.pass.norm_backward(tape.norm_input, kHead + "LayerNorm", d_transformed, gradients);
    head.pass.activate_backward(tape.act_in, model.config().hidden_act, d_act);
    const Matrix<Scalar> d_targets = head.pass.dense_backward(tape.x, kHead + "dense", d_act, gradients);
    for (Index m = 0; m < d_targets.rows(); ++m) d_x.row(tape.rows[static_cast<std::size_t>(m)]) = d_targets.row(m);
    return d_x;
}

template <class Scalar>
MaskedWordsTape<Scalar> masked_language_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                             const PackedBatch& batch, const Dropout& dropout,
                                             Parameters<Scalar>& gradients, Trace* stages) {
    check_batch(batch, model.config().vocab_size);
    const DebertaTape<Scalar> tape = model.forward(values, batch, model.embedding_sum(values, batch), dropout);
    MaskedWordsTape<Scalar> head = masked_words_forward<Scalar>(model, values, batch, *tape.output);
    const Matrix<Scalar> d_output = masked_words_backward<Scalar>(
        model, values, batch, head, mean_loss_backward<Scalar>(head, model.pool()), gradients);
    const Matrix<Scalar> d_sum = model.backward(values, batch, tape, dropout, d_output, gradients, stages);
    model.embedding_sum_backward(values, batch, d_sum, gradients);
    return head;
}

template <class Scalar>
std::vector<Scalar> masked_language_losses(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values,
                                           const PackedBatch& batch) {
    check_batch(batch, model.config().vocab_size);
    const DebertaTape<Scalar> tape = model.forward(values, batch, model.embedding_sum(values, batch), Dropout{});
    return masked_words_forward<Scalar>(model, values, batch, *tape.output).losses;
}

template MaskedWordsTape<float> masked_words_forward<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                            const PackedBatch&, const ConstView<float>&);
template MaskedWordsTape<double> masked_words_forward<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                              const PackedBatch&, const ConstView<double>&);
template Matrix<float> mean_loss_backward<float>(const MaskedWordsTape<float>&, ThreadPool&, float);
template Matrix<double> mean_loss_backward<double>(const MaskedWordsTape<double>&, ThreadPool&, double);
template Matrix<float> masked_words_backward<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                    const PackedBatch&, const MaskedWordsTape<float>&,
                                                    const ConstView<float>&, Parameters<float>&);
template Matrix<double> masked_words_backward<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                      const PackedBatch&, const MaskedWordsTape<double>&,
                                                      const ConstView<double>&, Parameters<double>&);
template MaskedWordsTape<float> masked_language_step<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                            const PackedBatch&, const Dropout&, Parameters<float>&,
                                                            Trace*);
template MaskedWordsTape<double> masked_language_step<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                              const PackedBatch&, const Dropout&, Parameters<double>&,
                                                              Trace*);
template std::vector<float> masked_language_losses<float>(DebertaTraining<float>&, const Parameters<float>&,
                                                          const PackedBatch&);
template std::vector<double> masked_language_losses<double>(DebertaTraining<double>&, const Parameters<double>&,
                                                            const PackedBatch&);

namespace {

/// The names of the head in microsoft/DeBERTa's files and in transformers'.
const std::pair<const char*, const char*> kHeadNames[] = {
    {"lm_predictions.lm_head.dense.", "cls.predictions.transform.dense."},
    {"lm_predictions.lm_head.LayerNorm.", "cls.predictions.transform.LayerNorm."},
    {"lm_predictions.lm_head.bias", "cls.predictions.bias"},
};

/// The name in the checkpoint of a parameter of ours.
std::string stored_name(const std::string& name, const WeightSource& weights) {
    if (weights.shape(name)) return name;
    for (const auto& [ours, theirs] : kHeadNames)
        if (name.starts_with(ours)) return theirs + name.substr(std::string(ours).size());
    return name;
}

std::string gradient_name(const std::string& stored) {
    const bool head = stored.starts_with("lm_predictions.") || stored.starts_with("cls.");
    return "grad." + std::string(head ? "" : "deberta.") + stored;
}

}  // namespace

template <class Scalar>
Trace gradient_trace(const DebertaConfig& config, const std::shared_ptr<const WeightSource>& weights,
                     const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted) {
    const Deberta<Scalar> model(config, weights);  // refuses missing tensors by name
    if (!model.has_head())
        throw Error(Fault::unsupported, weights->location() +
                                            ": no masked-word head, and without one there is no "
                                            "loss to differentiate");
    if (const std::string table = model.weights().head_output().table; table != kWordTable)
        throw Error(Fault::unsupported, weights->location() +
                                            ": the masked-word head has an output matrix of its own (" + table +
                                            "), expected the word table: gradients are those of tied words");
    check_input(input, config.vocab_size, config.type_vocab_size);
    LOCUS_CHECK(!input.labels.empty(), "labels are missing: gradients are those of the masked words' loss");
    if (input.mask.rank() == 3) throw Error(Fault::unsupported, "mask is [B, T, T], expected [B, T] for gradients");
    const bool decoder = options.decoder == MaskDecoder::official && model.has_decoder();
    const TensorShapes tensors = masked_language_tensors(config, decoder);
    const auto values = read_parameters<Scalar>(tensors, *weights,
                                                [&](const std::string& name) { return stored_name(name, *weights); });
    ThreadPool pool(1);
    DebertaTraining<Scalar> training(config, {decoder, false, nullptr, options.offset_clamp, options.counted_terms},
                                     pool);
    Parameters<Scalar> gradients = values.zeros();
    Trace unsorted;  // everything: which stages there are is known after the pass alone
    masked_language_step<Scalar>(training, values, packed_batch(input), Dropout{}, gradients, &unsorted);
    for (const auto& one : gradients.entries()) {
        Tensor<Scalar> gradient(one.shape);
        std::copy_n(gradients.row(one.name).data(), one.size, gradient.data());
        unsorted.add(gradient_name(stored_name(one.name, *weights)), std::move(gradient));
    }
    std::vector<Stage> stages = unsorted.stages();
    std::stable_sort(stages.begin(), stages.end(),
                     [](const Stage& a, const Stage& b) { return stage_comes_before(a.name, b.name); });
    wanted.check_against(unsorted.names());
    Trace trace(wanted);
    for (Stage& stage : stages)
        if (wanted.keeps(stage.name)) trace.add(std::move(stage));
    return trace;
}

template Trace gradient_trace<float>(const DebertaConfig&, const std::shared_ptr<const WeightSource>&,
                                     const ModelInput&, const DebertaOptions&, const StageFilter&);
template Trace gradient_trace<double>(const DebertaConfig&, const std::shared_ptr<const WeightSource>&,
                                      const ModelInput&, const DebertaOptions&, const StageFilter&);

}  // namespace locus
