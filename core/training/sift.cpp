#include "core/training/sift.h"

#include <cmath>

#include "core/models/layers.h"

namespace locus {

namespace {

constexpr double kSiftEps = 1e-7;  // sift.py, PerturbLayer

/// log softmax of a row.
template <class Scalar>
RowVector<Scalar> log_softmax(const Eigen::Ref<const RowVector<Scalar>>& row) {
    const Scalar maximum = row.maxCoeff();
    return row.array() - maximum - std::log((row.array() - maximum).exp().sum());
}

/// softmax(s) - softmax(t), row by row, times a factor.
template <class Scalar>
Matrix<Scalar> softmax_difference(const Matrix<Scalar>& s, const Matrix<Scalar>& t, Scalar factor, ThreadPool& pool) {
    Matrix<Scalar> difference(s.rows(), s.cols());
    pool.parallel_for(s.rows(), [&](Index m, int) {
        difference.row(m) =
            factor * (log_softmax<Scalar>(s.row(m)).array().exp() - log_softmax<Scalar>(t.row(m)).array().exp());
    });
    return difference;
}

template <class Scalar>
std::vector<Scalar> symmetric_losses(const Matrix<Scalar>& s, const Matrix<Scalar>& t) {
    std::vector<Scalar> losses;
    for (Index m = 0; m < s.rows(); ++m) losses.push_back(symmetric_cross_entropy<Scalar>(s.row(m), t.row(m)));
    return losses;
}

/// Forward from xhat plus something, to the logits at the targets.
template <class Scalar>
struct Run {
    Run(DebertaTraining<Scalar>& m, const Parameters<Scalar>& v, const PackedBatch& b, Matrix<Scalar> norm_input,
        const Dropout& d)
        : model(m),
          values(v),
          batch(b),
          dropout(d),
          tape(model.forward(values, batch, std::move(norm_input), dropout)),
          head(masked_words_forward<Scalar>(model, values, batch, *tape.output)) {}
    /// Adds to the gradients and returns that of what the norm was given [N,D].
    Matrix<Scalar> backward(const Matrix<Scalar>& d_logits, Parameters<Scalar>& gradients) {
        const Matrix<Scalar> d_output = masked_words_backward<Scalar>(model, values, batch, head, d_logits, gradients);
        return model.backward(values, batch, tape, dropout, d_output, gradients);
    }
    DebertaTraining<Scalar>& model;
    const Parameters<Scalar>& values;
    const PackedBatch& batch;
    const Dropout& dropout;
    DebertaTape<Scalar> tape;
    MaskedWordsTape<Scalar> head;
};

}  // namespace

template <class Scalar>
Matrix<Scalar> sift_normalise(const ConstView<Scalar>& sum) {
    return layer_norm<Scalar>(sum, Norm<Scalar>{}, kSiftEps);
}

template <class Scalar>
Scalar symmetric_cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& s,
                               const Eigen::Ref<const RowVector<Scalar>>& t) {
    const RowVector<Scalar> log_s = log_softmax<Scalar>(s), log_t = log_softmax<Scalar>(t);
    return -(log_t.array().exp() * log_s.array()).sum() - (log_s.array().exp() * log_t.array()).sum();
}

template <class Scalar>
Matrix<Scalar> sift_perturb(const ConstView<Scalar>& delta0, const ConstView<Scalar>& gradient, double rate) {
    LOCUS_CHECK(delta0.rows() == gradient.rows() && delta0.cols() == gradient.cols(),
                "sift_perturb: a gradient of " + std::to_string(gradient.rows()) + " x " +
                    std::to_string(gradient.cols()) + ", expected that of the noise");
    Matrix<Scalar> delta = delta0;
    for (Index n = 0; n < delta.rows(); ++n)
        delta.row(n) += Scalar(rate) * gradient.row(n) / (Scalar(1e-6) + gradient.row(n).cwiseAbs().maxCoeff());
    return delta;
}

template <class Scalar>
SiftTape<Scalar> sift_step(DebertaTraining<Scalar>& model, const Parameters<Scalar>& values, const PackedBatch& batch,
                           const Dropout (&passes)[3], const SiftSettings& settings, const ConstView<Scalar>& noise,
                           Parameters<Scalar>& gradients, Scalar task_weight) {
    check_batch(batch, model.config().vocab_size);
    const Matrix<Scalar> sum = model.embedding_sum(values, batch);
    LOCUS_CHECK(noise.rows() == sum.rows() && noise.cols() == sum.cols(),
                "sift_step: noise of " + std::to_string(noise.rows()) + " x " + std::to_string(noise.cols()) +
                    ", expected " + std::to_string(sum.rows()) + " x " + std::to_string(sum.cols()));
    SiftTape<Scalar> tape;
    tape.xhat = sift_normalise<Scalar>(sum);
    Run<Scalar> clean(model, values, batch, tape.xhat, passes[0]);
    tape.logits_clean = clean.head.logits;
    tape.task = mean_loss(clean.head.losses);

    // The adversary: all parameters are frozen, the gradient of the noise alone is wanted.
    const Scalar limit = Scalar(2 * settings.deviation);
    tape.delta0 = noise.cwiseMax(-limit).cwiseMin(limit);
    {
        Run<Scalar> adversary(model, values, batch, tape.xhat + tape.delta0, passes[1]);
        tape.logits0 = adversary.head.logits;
        tape.losses0 = symmetric_losses(tape.logits0, tape.logits_clean);
        Parameters<Scalar> frozen;
        tape.grad =
            adversary.backward(softmax_difference<Scalar>(tape.logits0, tape.logits_clean, 1, model.pool()), frozen);
    }
    tape.skipped = !tape.grad.allFinite();
    tape.delta = tape.skipped ? tape.delta0 : sift_perturb<Scalar>(tape.delta0, tape.grad, settings.rate);

    Run<Scalar> perturbed(model, values, batch, tape.xhat + tape.delta, passes[2]);
    tape.logits = perturbed.head.logits;
    tape.loss = mean_loss(symmetric_losses(tape.logits, tape.logits_clean));
    const auto targets = static_cast<double>(std::max<Index>(1, tape.logits.rows()));
    const Matrix<Scalar> d_logits =
        softmax_difference<Scalar>(tape.logits, tape.logits_clean, Scalar(settings.weight / targets), model.pool());
    perturbed.backward(d_logits, gradients);
    const Matrix<Scalar> d_xhat =
        clean.backward(mean_loss_backward<Scalar>(clean.head, model.pool(), task_weight) - d_logits, gradients);
    model.embedding_sum_backward(values, batch, layer_norm_backward<Scalar>(sum, Norm<Scalar>{}, kSiftEps, d_xhat).x,
                                 gradients);
    return tape;
}

template struct SiftTape<float>;
template struct SiftTape<double>;
template Matrix<float> sift_normalise<float>(const ConstView<float>&);
template Matrix<double> sift_normalise<double>(const ConstView<double>&);
template float symmetric_cross_entropy<float>(const Eigen::Ref<const RowVector<float>>&,
                                              const Eigen::Ref<const RowVector<float>>&);
template double symmetric_cross_entropy<double>(const Eigen::Ref<const RowVector<double>>&,
                                                const Eigen::Ref<const RowVector<double>>&);
template Matrix<float> sift_perturb<float>(const ConstView<float>&, const ConstView<float>&, double);
template Matrix<double> sift_perturb<double>(const ConstView<double>&, const ConstView<double>&, double);
template SiftTape<float> sift_step<float>(DebertaTraining<float>&, const Parameters<float>&, const PackedBatch&,
                                          const Dropout (&)[3], const SiftSettings&, const ConstView<float>&,
                                          Parameters<float>&, float);
template SiftTape<double> sift_step<double>(DebertaTraining<double>&, const Parameters<double>&, const PackedBatch&,
                                            const Dropout (&)[3], const SiftSettings&, const ConstView<double>&,
                                            Parameters<double>&, double);

}  // namespace locus
