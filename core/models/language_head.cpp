#include "core/models/language_head.h"

#include <algorithm>
#include <cmath>

#include "core/models/block.h"

namespace locus {

namespace {

constexpr Index kWordsAtOnce = 4096;

template <class Scalar>
Matrix<Scalar> transform(const MaskedWordHead<Scalar>& head, const ConstView<Scalar>& x) {
    return layer_norm<Scalar>(activate<Scalar>(dense<Scalar>(x, head.dense), head.activation), head.norm, head.eps);
}

template <class Scalar>
Matrix<Scalar> logits_of(const MaskedWordHead<Scalar>& head, const ConstView<Scalar>& transformed) {
    return word_logits<Scalar>(transformed, head.table, head.words, head.bias);
}

/// Rows b * T + t of x, in the order of `flat`.
template <class Scalar>
Matrix<Scalar> pick_rows(const Tensor<Scalar>& x, const std::vector<Index>& flat) {
    Matrix<Scalar> picked(static_cast<Index>(flat.size()), x.extent(2));
    for (std::size_t n = 0; n < flat.size(); ++n) picked.row(static_cast<Index>(n)) = x.rows().row(flat[n]);
    return picked;
}

template <class Scalar>
void everywhere(const MaskedWordHead<Scalar>& head, const Tensor<Scalar>& x, Trace& trace) {
    const bool wants_logits = trace.wants("mlm.logits");
    if (!wants_logits && !trace.wants("mlm.transform")) return;
    const Matrix<Scalar> transformed = transform<Scalar>(head, x.rows());
    trace.add("mlm.transform", as_tensor<Scalar>({x.extent(0), x.extent(1), transformed.cols()}, transformed));
    if (!wants_logits) return;
    trace.add("mlm.logits",
              as_tensor<Scalar>({x.extent(0), x.extent(1), head.words}, logits_of<Scalar>(head, transformed)));
}

template <class Scalar>
void at_positions(const MaskedWordHead<Scalar>& head, const IndexTensor& positions, const Tensor<Scalar>& x,
                  Trace& trace) {
    const bool wants_logits = trace.wants("mlm.logits_at_positions");
    if (!wants_logits && !trace.wants("mlm.transform_at_positions")) return;
    std::vector<Index> flat;
    for (Index n = 0; n < positions.extent(0); ++n)
        flat.push_back(positions[2 * n] * x.extent(1) + positions[2 * n + 1]);
    const Matrix<Scalar> transformed = transform<Scalar>(head, pick_rows(x, flat));
    trace.add("mlm.transform_at_positions", as_tensor<Scalar>({transformed.rows(), transformed.cols()}, transformed));
    if (!wants_logits) return;
    trace.add("mlm.logits_at_positions",
              as_tensor<Scalar>({transformed.rows(), head.words}, logits_of<Scalar>(head, transformed)));
}

/// Label 0 is not a target in the official code.
template <class Scalar>
void losses(const MaskedWordHead<Scalar>& head, const IndexTensor& labels, const Tensor<Scalar>& x, Trace& trace) {
    if (labels.empty() || !trace.wants("mlm.loss")) return;
    std::vector<Index> flat;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] > 0) flat.push_back(n);
    const Matrix<Scalar> rows = logits_of<Scalar>(head, transform<Scalar>(head, pick_rows(x, flat)));
    Tensor<Scalar> loss({static_cast<Index>(flat.size())});
    for (Index n = 0; n < rows.rows(); ++n)
        loss[n] = cross_entropy<Scalar>(rows.row(n), labels[flat[static_cast<std::size_t>(n)]]);
    trace.add("mlm.loss", std::move(loss));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> word_logits(const ConstView<Scalar>& x, const WordBlock<Scalar>& table, Index words,
                           const RowVector<Scalar>& bias) {
    Matrix<Scalar> logits(x.rows(), words);
    for (Index first = 0; first < words; first += kWordsAtOnce) {
        const Index count = std::min(kWordsAtOnce, words - first);
        logits.middleCols(first, count) = x * table(first, count).transpose();
    }
    if (bias.size() > 0) logits.rowwise() += bias;
    return logits;
}

template <class Scalar>
Scalar cross_entropy(const Eigen::Ref<const RowVector<Scalar>>& logits, std::int64_t label) {
    LOCUS_CHECK(
        label >= 0 && label < logits.size(),
        "labels holds " + std::to_string(label) + ", expected ids from 0 to " + std::to_string(logits.size() - 1));
    const Scalar maximum = logits.maxCoeff();
    return std::log((logits.array() - maximum).exp().sum()) - (logits[label] - maximum);
}

template <class Scalar>
void masked_words(const MaskedWordHead<Scalar>& head, const ModelInput& input, const Tensor<Scalar>& x, Trace& trace) {
    everywhere(head, x, trace);
    if (!input.mask_positions.empty()) {
        trace.add("mlm.positions", input.mask_positions);
        at_positions(head, input.mask_positions, x, trace);
    }
    losses(head, input.labels, x, trace);
}

template Matrix<float> word_logits<float>(const ConstView<float>&, const WordBlock<float>&, Index,
                                          const RowVector<float>&);
template float cross_entropy<float>(const Eigen::Ref<const RowVector<float>>&, std::int64_t);
template void masked_words<float>(const MaskedWordHead<float>&, const ModelInput&, const Tensor<float>&, Trace&);
template Matrix<double> word_logits<double>(const ConstView<double>&, const WordBlock<double>&, Index,
                                            const RowVector<double>&);
template double cross_entropy<double>(const Eigen::Ref<const RowVector<double>>&, std::int64_t);
template void masked_words<double>(const MaskedWordHead<double>&, const ModelInput&, const Tensor<double>&, Trace&);

}  // namespace locus
