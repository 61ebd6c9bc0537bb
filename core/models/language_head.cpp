#include "core/models/language_head.h"

#include "core/models/block.h"

namespace locus {

namespace {

template <class Scalar>
Matrix<Scalar> transform(const Operations<Scalar>& compute, const MaskedWordHead<Scalar>& head,
                         const ConstView<Scalar>& x) {
    return compute.layer_norm(compute.activate(compute.dense(x, head.dense), head.activation), head.norm, head.eps);
}

template <class Scalar>
Matrix<Scalar> logits_of(const Operations<Scalar>& compute, const MaskedWordHead<Scalar>& head,
                         const ConstView<Scalar>& transformed) {
    return compute.word_logits(transformed, head.table, head.words, head.bias);
}

/// Rows b * T + t of x, in the order of `flat`.
template <class Scalar>
Matrix<Scalar> pick_rows(const Tensor<Scalar>& x, const std::vector<Index>& flat) {
    Matrix<Scalar> picked(static_cast<Index>(flat.size()), x.extent(2));
    for (std::size_t n = 0; n < flat.size(); ++n) picked.row(static_cast<Index>(n)) = x.rows().row(flat[n]);
    return picked;
}

template <class Scalar>
void everywhere(const Operations<Scalar>& compute, const MaskedWordHead<Scalar>& head, const Tensor<Scalar>& x,
                Trace& trace) {
    const bool wants_logits = trace.wants("mlm.logits");
    if (!wants_logits && !trace.wants("mlm.transform")) return;
    const Matrix<Scalar> transformed = transform<Scalar>(compute, head, x.rows());
    trace.add("mlm.transform", as_tensor<Scalar>({x.extent(0), x.extent(1), transformed.cols()}, transformed));
    if (!wants_logits) return;
    trace.add("mlm.logits",
              as_tensor<Scalar>({x.extent(0), x.extent(1), head.words}, logits_of<Scalar>(compute, head, transformed)));
}

template <class Scalar>
void at_positions(const Operations<Scalar>& compute, const MaskedWordHead<Scalar>& head, const IndexTensor& positions,
                  const Tensor<Scalar>& x, Trace& trace) {
    const bool wants_logits = trace.wants("mlm.logits_at_positions");
    if (!wants_logits && !trace.wants("mlm.transform_at_positions")) return;
    std::vector<Index> flat;
    for (Index n = 0; n < positions.extent(0); ++n)
        flat.push_back(positions[2 * n] * x.extent(1) + positions[2 * n + 1]);
    const Matrix<Scalar> transformed = transform<Scalar>(compute, head, pick_rows(x, flat));
    trace.add("mlm.transform_at_positions", as_tensor<Scalar>({transformed.rows(), transformed.cols()}, transformed));
    if (!wants_logits) return;
    trace.add("mlm.logits_at_positions",
              as_tensor<Scalar>({transformed.rows(), head.words}, logits_of<Scalar>(compute, head, transformed)));
}

/// Label 0 is not a target in the official code.
template <class Scalar>
void losses(const Operations<Scalar>& compute, const MaskedWordHead<Scalar>& head, const IndexTensor& labels,
            const Tensor<Scalar>& x, Trace& trace) {
    if (labels.empty() || !trace.wants("mlm.loss")) return;
    std::vector<Index> flat;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] > 0) flat.push_back(n);
    const Matrix<Scalar> rows = logits_of<Scalar>(compute, head, transform<Scalar>(compute, head, pick_rows(x, flat)));
    Tensor<Scalar> loss({static_cast<Index>(flat.size())});
    for (Index n = 0; n < rows.rows(); ++n)
        loss[n] = compute.cross_entropy(rows.row(n), labels[flat[static_cast<std::size_t>(n)]]);
    trace.add("mlm.loss", std::move(loss));
}

}  // namespace

template <class Scalar>
OutputLayer output_layer(const WeightReader<Scalar>& weights, bool tied, const std::string& bias) {
    const std::string own = "cls.predictions.decoder";
    if (tied || !weights.has(own + ".weight")) return {"embeddings.word_embeddings.weight", bias};
    return {own + ".weight", weights.has(own + ".bias") ? own + ".bias" : bias};
}

template <class Scalar>
void note_other_output(const WeightReader<Scalar>& weights, bool tied) {
    if (tied) weights.note_if_untied("cls.predictions.decoder.weight", "embeddings.word_embeddings.weight");
}

template <class Scalar>
void masked_words(const MaskedWordHead<Scalar>& head, const ModelInput& input, const Tensor<Scalar>& x, Trace& trace,
                  const Operations<Scalar>& compute) {
    everywhere(compute, head, x, trace);
    if (!input.mask_positions.empty()) {
        trace.add("mlm.positions", input.mask_positions);
        at_positions(compute, head, input.mask_positions, x, trace);
    }
    losses(compute, head, input.labels, x, trace);
}

template OutputLayer output_layer<float>(const WeightReader<float>&, bool, const std::string&);
template OutputLayer output_layer<double>(const WeightReader<double>&, bool, const std::string&);
template void note_other_output<float>(const WeightReader<float>&, bool);
template void note_other_output<double>(const WeightReader<double>&, bool);
template void masked_words<float>(const MaskedWordHead<float>&, const ModelInput&, const Tensor<float>&, Trace&,
                                  const Operations<float>&);
template void masked_words<double>(const MaskedWordHead<double>&, const ModelInput&, const Tensor<double>&, Trace&,
                                   const Operations<double>&);

}  // namespace locus
