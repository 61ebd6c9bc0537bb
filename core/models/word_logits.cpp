#include "core/models/word_logits.h"

#include <algorithm>
#include <cmath>

#include "core/products.h"
#include "core/tensor.h"

namespace locus {

// --- logits ---

template <class Scalar>
Matrix<Scalar> word_logits(const ConstView<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias) {
    if (bias.size() > 0) check_shape("word_logits", "bias", bias, 1, words);
    Matrix<Scalar> logits(x.rows(), words);
    for (Index first = 0; first < words; first += kWordsAtOnce) {
        const Index count = std::min(kWordsAtOnce, words - first);
        const Matrix<Scalar> block = table(first, count);
        check_shape("word_logits", "a block of the table", block, count, x.cols());
        logits.middleCols(first, count) = times_transposed<Scalar>(x, block);
    }
    if (bias.size() > 0) logits.rowwise() += bias;
    return logits;
}

template <class Scalar>
WordLogitsGradients<Scalar> word_logits_backward(const ConstView<Scalar>& x, const ConstView<Scalar>& table,
                                                 const ConstView<Scalar>& d_logits) {
    check_shape("word_logits_backward", "x", x, x.rows(), table.cols());
    check_shape("word_logits_backward", "d_logits", d_logits, x.rows(), table.rows());
    return {times<Scalar>(d_logits, table), transposed_times<Scalar>(d_logits, x), d_logits.colwise().sum()};
}

template <class Scalar>
void scatter_rows(const std::vector<std::int64_t>& ids, const ConstView<Scalar>& d_rows, View<Scalar> d_table,
                  std::optional<std::int64_t> dropped) {
    check_shape("scatter_rows", "d_rows", d_rows, static_cast<Index>(ids.size()), d_table.cols());
    for (Index n = 0; n < d_rows.rows(); ++n) {
        const std::int64_t id = ids[static_cast<std::size_t>(n)];
        LOCUS_CHECK(id >= 0 && id < d_table.rows(), "scatter_rows: row " + std::to_string(id) + ", expected 0 to " +
                                                        std::to_string(d_table.rows() - 1));
        if (id != dropped) d_table.row(id) += d_rows.row(n);
    }
}

// --- cross-entropy ---

namespace {

void check_label(std::int64_t label, Index words) {
    LOCUS_CHECK(label >= 0 && label < words,
                "labels holds " + std::to_string(label) + ", expected ids from 0 to " + std::to_string(words - 1));
}

}  // namespace

template <class Scalar>
Scalar cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label) {
    check_label(label, logits.size());
    const Scalar maximum = logits.maxCoeff();
    return std::log((logits.array() - maximum).exp().sum()) - (logits[label] - maximum);
}

template <class Scalar>
RowVector<Scalar> cross_entropy_backward(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label) {
    check_label(label, logits.size());
    RowVector<Scalar> d_logits = (logits.array() - logits.maxCoeff()).exp();
    d_logits /= d_logits.sum();
    d_logits[label] -= Scalar(1);
    return d_logits;
}

template <class Scalar>
Matrix<Scalar> log_softmax(const ConstView<Scalar>& logits, const RowVector<Scalar>& given) {
    if (given.size() > 0) check_shape("log_softmax", "given", given, 1, logits.rows());
    Matrix<Scalar> result(logits.rows(), logits.cols());
    for (Index n = 0; n < logits.rows(); ++n) {
        const Scalar maximum = logits.row(n).maxCoeff();
        const Scalar sum = (logits.row(n).array() - maximum).exp().sum();
        result.row(n) = (logits.row(n).array() - maximum) - std::log(sum) + (given.size() > 0 ? given[n] : Scalar(0));
    }
    return result;
}

// --- label smoothing ---

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

template Matrix<float> word_logits<float>(const ConstView<float>&, const WordBlock<float>&, Index,
                                          const RowVector<float>&);
template WordLogitsGradients<float> word_logits_backward<float>(const ConstView<float>&, const ConstView<float>&,
                                                                const ConstView<float>&);
template void scatter_rows<float>(const std::vector<std::int64_t>&, const ConstView<float>&, View<float>,
                                  std::optional<std::int64_t>);
template float cross_entropy<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t);
template RowVector<float> cross_entropy_backward<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t);
template Matrix<float> log_softmax<float>(const ConstView<float>&, const RowVector<float>&);
template float smoothed_loss<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t, const LabelSmoothing&);
template RowVector<float> smoothed_loss_backward<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t,
                                                        const LabelSmoothing&);
template Tensor<float> smoothed_losses<float>(const Tensor<float>&, const IndexTensor&, const LabelSmoothing&);

template Matrix<double> word_logits<double>(const ConstView<double>&, const WordBlock<double>&, Index,
                                            const RowVector<double>&);
template WordLogitsGradients<double> word_logits_backward<double>(const ConstView<double>&, const ConstView<double>&,
                                                                  const ConstView<double>&);
template void scatter_rows<double>(const std::vector<std::int64_t>&, const ConstView<double>&, View<double>,
                                   std::optional<std::int64_t>);
template double cross_entropy<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t);
template RowVector<double> cross_entropy_backward<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t);
template Matrix<double> log_softmax<double>(const ConstView<double>&, const RowVector<double>&);
template double smoothed_loss<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t, const LabelSmoothing&);
template RowVector<double> smoothed_loss_backward<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t,
                                                          const LabelSmoothing&);
template Tensor<double> smoothed_losses<double>(const Tensor<double>&, const IndexTensor&, const LabelSmoothing&);

}  // namespace locus
