#include "core/attention/softmax.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// What the word table collects as the output matrix: sum over targets of (softmax(logits) - onehot) transform^T / N.
Matrix<double> share_of_the_output(const Replay& at) {
    const Tensor<double>&logits = at("/mlm.logits"), &transform = at("/mlm.transform");
    const IndexTensor& labels = at.input().labels;
    if (labels.empty() || labels.size() != logits.rows().rows()) throw NotEnough{"labels"};
    Matrix<double> share = Matrix<double>::Zero(logits.rows().cols(), transform.rows().cols());
    Index targets = 0;
    for (Index n = 0; n < labels.size(); ++n) {
        if (labels[n] <= 0) continue;  // no target
        RowVector<double> surplus = masked_softmax<double>(Matrix<double>(logits.rows().row(n)), Mask());
        surplus(labels[n]) -= 1;
        share += surplus.transpose() * transform.rows().row(n);
        ++targets;
    }
    if (targets == 0) throw NotEnough{"a target"};
    return share / static_cast<double>(targets);
}

/// The table's gradient as somebody has it who takes one of its two shares alone.  What the lookups add follows from no
/// stage: it is what the reference has beside the other share.
Formula one_share(const std::string& prefix, bool of_lookups) {
    const std::string stem = "/grad." + prefix + "embeddings.word_embeddings.weight";
    return {stem, {"/mlm.logits", "/mlm.transform"}, [stem, of_lookups](const Replay& at) {
                const Matrix<double> output = share_of_the_output(at);
                if (!of_lookups) return as_tensor<double>({output.rows(), output.cols()}, output);
                const auto both = at.expected(stem);
                if (!both || both->rank() != 2 || both->extent(0) != output.rows() || both->extent(1) != output.cols())
                    throw NotEnough{"the gradient of the word table"};
                const Matrix<double> lookups = both->matrix() - output;
                return as_tensor<double>({lookups.rows(), lookups.cols()}, lookups);
            }};
}

std::vector<Formula> share(bool of_lookups) { return {one_share("deberta.", of_lookups), one_share("", of_lookups)}; }

}  // namespace

Mistake mistake_53() {
    return {.number = 53,
            .name = "the gradient of the tied word table is counted once",
            .symptom = "the gradient of the word table is too small; all others are right",
            .betrays = "what is missing is (softmax(logits) - onehot)^T transform / N, or what lookups add",
            .evidence = "paiml/entrenar #314; NVIDIA/TransformerEngine #3437",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"/grad.deberta.embeddings.word_embeddings.weight", "/grad.embeddings.word_embeddings.weight"},
            .variants = {{"only what its lookups add", share(true)}, {"only what the output adds", share(false)}}};
}

}  // namespace locus::conformance
