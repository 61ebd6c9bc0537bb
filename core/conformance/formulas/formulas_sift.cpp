// The right formulas of SiFT.  He et al. 2021, section 4; microsoft/DeBERTa sift.py.
#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/formulas/sift_parts.h"
#include "core/models/deberta.h"

namespace locus::conformance {

namespace {

/// The embedding sum normed without weights; its eps is the one of the code, whatever the configuration says.
Tensor<double> normed_embedding(const Replay& at) {
    const Matrix<double> sum = embedding_sum(at, at.deberta().config().position_biased_input);
    return shaped(at("/embeddings.word"), layer_norm<double>(sum, Norm<double>{}, 1e-7));
}

/// The noise cut at 2 sigma, which is the largest entry of the reference's: no file of a model holds sigma.
Tensor<double> clamped_noise(const Replay& at) {
    const auto expected = at.expected("/sift.delta0");
    if (!expected) throw NotEnough{"delta0 of the reference"};
    double bound = 0;
    for (const double entry : expected->values()) bound = std::max(bound, std::abs(entry));
    return mapped(at("/noise"), [&](double entry) { return std::clamp(entry, -bound, bound); });
}

/// Each token over its own largest entry.
Tensor<double> by_largest_of_token(const Tensor<double>& grad) {
    Tensor<double> direction = grad;
    for (Index n = 0; n < grad.rows().rows(); ++n)
        direction.rows().row(n) /= 1e-6 + grad.rows().row(n).cwiseAbs().maxCoeff();
    return direction;
}

/// d sum(loss0) / d delta0 with the clean rows held.  The derivative of the cross entropies by the logits is
/// softmax(s) - softmax(t); that of the logits by one channel of one token is taken from differences of eighth order,
/// in all samples at once, since none of them reads another.
Tensor<double> gradient(const Replay& at) {
    constexpr double kStep = 4e-3, kWeights[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
    const Tensor<double> start = sum_of(at("/sift.xhat"), at("/sift.delta0"));
    const auto softmax = [](const RowVector<double>& logits) -> RowVector<double> {
        const RowVector<double> powers = (logits.array() - logits.maxCoeff()).exp();
        return powers / powers.sum();
    };
    const Tensor<double>&s = at("/sift.logits0"), &t = at("/sift.logits_clean");
    Matrix<double> pull(s.extent(0), s.extent(1));
    for (Index n = 0; n < pull.rows(); ++n) pull.row(n) = softmax(s.rows().row(n)) - softmax(t.rows().row(n));
    std::vector<Index> sample_of;  // of each target
    const IndexTensor& labels = at.input().labels;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] > 0) sample_of.push_back(n / at.input().length());
    if (static_cast<Index>(sample_of.size()) != pull.rows()) throw NotEnough{"a row for each target"};

    const Index batch = start.extent(0), entries = start.size() / batch;
    Tensor<double> grad(start.shape());
    for (Index entry = 0; entry < entries; ++entry)
        for (int order = 1; order <= 4; ++order)
            for (const int sign : {1, -1}) {
                Tensor<double> moved = start;
                for (Index b = 0; b < batch; ++b) moved[b * entries + entry] += sign * order * kStep;
                const Tensor<double> answers = sift_answers(at, moved, false);
                const double weight = sign * kWeights[order - 1] / kStep;
                for (Index n = 0; n < pull.rows(); ++n)
                    grad[sample_of[static_cast<std::size_t>(n)] * entries + entry] +=
                        weight * pull.row(n).dot(answers.rows().row(n) - s.rows().row(n));
            }
    return grad;
}

}  // namespace

std::vector<Formula> sift_formulas() {
    std::vector<Formula> all = {
        {"/sift.xhat", {"/embeddings.word"}, normed_embedding},
        {"/sift.delta0", {}, clamped_noise},
        {"/sift.grad", {"/sift.xhat", "/sift.delta0", "/sift.logits0", "/sift.logits_clean"}, gradient},
        {"/sift.delta",
         {"/sift.delta0", "/sift.grad"},
         [](const Replay& at) { return sift_step(at, by_largest_of_token); }},
    };
    // Called symmetric KL there: both cross entropies, with their entropies.
    const auto symmetric = [](const RowVector<double>& s, const RowVector<double>& t) {
        return cross_entropy_of(t, s) + cross_entropy_of(s, t);
    };
    for (std::vector<Formula>& more : std::vector{sift_answer_formulas(false), sift_loss_formulas(symmetric)})
        std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
}

}  // namespace locus::conformance
