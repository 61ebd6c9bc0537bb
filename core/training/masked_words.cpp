#include "core/training/masked_words.h"

#include <algorithm>
#include <cmath>

#include "core/models/word_logits.h"
#include "core/training/deberta_parameters.h"
#include "core/training/deberta_training_pass.h"

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
    const HeadPass<Scalar> head(model, values, batch);
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
    const HeadPass<Scalar> head(model, values, batch);
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

}  // namespace locus
