#include "core/models/label_smoothing.h"

#include <cmath>

namespace locus {

RowVector<double> smoothed_target(Index words, std::int64_t label, const LabelSmoothing& smoothing) {
    LOCUS_CHECK(words >= 2, "label smoothing: " + std::to_string(words) + " words, expected 2 or more");
    LOCUS_CHECK(label >= 0 && label < words,
                "label smoothing: label " + std::to_string(label) + ", expected 0 to " + std::to_string(words - 1));
    LOCUS_CHECK(smoothing.epsilon >= 0 && smoothing.epsilon < 1,
                "label smoothing: epsilon is " + std::to_string(smoothing.epsilon) + ", expected 0 or more, below 1");
    const bool all = smoothing.share == SmoothingShare::all_words;
    const double share = smoothing.epsilon / static_cast<double>(all ? words : words - 1);
    RowVector<double> target = RowVector<double>::Constant(words, share);
    target[label] = 1 - smoothing.epsilon + (all ? share : 0);
    return target;
}

template <class Scalar>
Scalar smoothed_loss(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label,
                     const LabelSmoothing& smoothing) {
    const RowVector<Scalar> target = smoothed_target(logits.cols(), label, smoothing).template cast<Scalar>();
    // Logits relative to their maximum, so that no exponential overflows.
    const RowVector<Scalar> below = logits.array() - logits.maxCoeff();
    const Scalar log_sum = std::log(below.array().exp().sum());
    Scalar loss = 0;
    for (Index w = 0; w < logits.cols(); ++w)  // a word without a share adds nothing, even at minus infinity
        if (target[w] > 0) loss += target[w] * (log_sum - below[w]);
    return loss;
}

template <class Scalar>
RowVector<Scalar> smoothed_loss_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label,
                                         const LabelSmoothing& smoothing) {
    RowVector<Scalar> probs = (logits.array() - logits.maxCoeff()).exp();
    probs /= probs.sum();
    return probs - smoothed_target(logits.cols(), label, smoothing).template cast<Scalar>();
}

double least_smoothed_loss(Index words, const LabelSmoothing& smoothing) {
    double entropy = 0;
    for (const double share : smoothed_target(words, 0, smoothing))
        if (share > 0) entropy -= share * std::log(share);  // 0 ln 0 = 0
    return entropy;
}

template <class Scalar>
Tensor<Scalar> smoothed_losses(const Tensor<Scalar>& logits, const IndexTensor& labels,
                               const LabelSmoothing& smoothing) {
    LOCUS_CHECK(logits.rank() == 3 && labels.shape() == Shape({logits.extent(0), logits.extent(1)}),
                "label smoothing: labels are " + to_string(labels.shape()) + " for logits of " +
                    to_string(logits.shape()) + ", expected [B, T] for [B, T, V]");
    std::vector<Scalar> losses;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] != 0) losses.push_back(smoothed_loss<Scalar>(logits.rows().row(n), labels[n], smoothing));
    const Shape shape = {std::ssize(losses)};
    return {shape, std::move(losses)};
}

template RowVector<float> smoothed_loss_backward<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t,
                                                        const LabelSmoothing&);
template RowVector<double> smoothed_loss_backward<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t,
                                                          const LabelSmoothing&);
template float smoothed_loss<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t, const LabelSmoothing&);
template double smoothed_loss<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t, const LabelSmoothing&);
template Tensor<float> smoothed_losses<float>(const Tensor<float>&, const IndexTensor&, const LabelSmoothing&);
template Tensor<double> smoothed_losses<double>(const Tensor<double>&, const IndexTensor&, const LabelSmoothing&);

}  // namespace locus
