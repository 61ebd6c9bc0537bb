// Masked-word prediction, with the word table as output matrix.
#include <cmath>

#include "core/models/deberta_pass.h"

namespace locus {

namespace {

constexpr Index kWordsAtOnce = 4096;  // words whose rows are widened at a time: the table may be a large mapped file

/// [N,D] -> [N,E]
template <class Scalar>
Matrix<Scalar> transform(const DebertaPass<Scalar>& pass, const ConstView<Scalar>& x) {
    const DebertaConfig& config = pass.config();
    return layer_norm<Scalar>(
        activate<Scalar>(dense<Scalar>(x, pass.weights.dense(pass.weights.head_dense())), config.hidden_act),
        pass.weights.norm(pass.weights.head_norm()), config.layer_norm_eps);
}

/// [N,E] -> [N,V]
template <class Scalar>
Matrix<Scalar> logits(const DebertaPass<Scalar>& pass, const ConstView<Scalar>& transformed) {
    const Index words = pass.config().vocab_size;
    Matrix<Scalar> result(transformed.rows(), words);
    for (Index first = 0; first < words; first += kWordsAtOnce) {
        const Index count = std::min(kWordsAtOnce, words - first);
        result.middleCols(first, count) = transformed * pass.weights.word_block(first, count).transpose();
    }
    result.rowwise() += pass.weights.head_bias();
    return result;
}

template <class Scalar>
Tensor<Scalar> as_tensor(Shape shape, const Matrix<Scalar>& rows) {
    Tensor<Scalar> tensor(std::move(shape));
    tensor.rows() = rows;
    return tensor;
}

/// Rows b * T + t of x, in the order of `flat`.
template <class Scalar>
Matrix<Scalar> pick_rows(const Tensor<Scalar>& x, const std::vector<Index>& flat) {
    Matrix<Scalar> picked(static_cast<Index>(flat.size()), x.extent(2));
    for (std::size_t n = 0; n < flat.size(); ++n) picked.row(static_cast<Index>(n)) = x.rows().row(flat[n]);
    return picked;
}

template <class Scalar>
void everywhere(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& x) {
    const bool wants_logits = pass.trace.wants("mlm.logits");
    if (!wants_logits && !pass.trace.wants("mlm.transform")) return;
    const Matrix<Scalar> transformed = transform<Scalar>(pass, x.rows());
    pass.trace.add("mlm.transform", as_tensor({x.extent(0), x.extent(1), transformed.cols()}, transformed));
    if (!wants_logits) return;
    const Matrix<Scalar> all = logits<Scalar>(pass, transformed);
    pass.trace.add("mlm.logits", as_tensor({x.extent(0), x.extent(1), all.cols()}, all));
}

template <class Scalar>
void at_positions(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& x) {
    const IndexTensor& positions = pass.input.mask_positions;
    const bool wants_logits = pass.trace.wants("mlm.logits_at_positions");
    if (positions.empty() || (!wants_logits && !pass.trace.wants("mlm.transform_at_positions"))) return;
    std::vector<Index> flat;
    for (Index n = 0; n < positions.extent(0); ++n)
        flat.push_back(positions[2 * n] * x.extent(1) + positions[2 * n + 1]);
    const Matrix<Scalar> transformed = transform<Scalar>(pass, pick_rows(x, flat));
    pass.trace.add("mlm.transform_at_positions", as_tensor({transformed.rows(), transformed.cols()}, transformed));
    if (!wants_logits) return;
    const Matrix<Scalar> rows = logits<Scalar>(pass, transformed);
    pass.trace.add("mlm.logits_at_positions", as_tensor({rows.rows(), rows.cols()}, rows));
}

/// Cross entropy of every target: label > 0, sample by sample (label 0 is not a target in the official code).
template <class Scalar>
void loss(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& x) {
    const IndexTensor& labels = pass.input.labels;
    if (labels.empty() || !pass.trace.wants("mlm.loss")) return;
    std::vector<Index> flat;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] > 0) flat.push_back(n);
    Tensor<Scalar> losses({static_cast<Index>(flat.size())});
    const Matrix<Scalar> rows = logits<Scalar>(pass, transform<Scalar>(pass, pick_rows(x, flat)));
    for (Index n = 0; n < rows.rows(); ++n) {
        const Scalar maximum = rows.row(n).maxCoeff();
        const Scalar log_sum = std::log((rows.row(n).array() - maximum).exp().sum());
        losses[n] = log_sum - (rows(n, labels[flat[static_cast<std::size_t>(n)]]) - maximum);
    }
    pass.trace.add("mlm.loss", std::move(losses));
}

}  // namespace

template <class Scalar>
void deberta_head(const DebertaPass<Scalar>& pass, const Tensor<Scalar>& x) {
    everywhere(pass, x);
    if (!pass.input.mask_positions.empty()) pass.trace.add("mlm.positions", pass.input.mask_positions);
    at_positions(pass, x);
    loss(pass, x);
}

template void deberta_head<float>(const DebertaPass<float>&, const Tensor<float>&);
template void deberta_head<double>(const DebertaPass<double>&, const Tensor<double>&);

}  // namespace locus
