#include "core/conformance/formulas/sift_parts.h"

#include "core/conformance/formulas/deberta_parts.h"
#include "core/models/deberta.h"

namespace locus::conformance {

namespace {

/// Embeddings [B,T,D] through encoder and mask decoder, as far as the head reads them.
Tensor<double> hidden_behind(const Replay& at, const Tensor<double>& embeddings) {
    const DebertaWeights<double>& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    const DebertaOptions options = DebertaOptions::of(Dialect::official);
    Trace silent(StageFilter::none());
    const ModelInput& input = at.input();
    std::vector<Mask> masks;
    for (Index b = 0; b < input.batch(); ++b) masks.push_back(at.mask(b));
    ForwardContext<double> pass{weights, input, options, silent, std::move(masks), std::nullopt};
    const Index length = input.length();
    if (config.relative_attention)
        pass.buckets = config.position_buckets > 0
                           ? RelativeBuckets::logarithmic(length, length, config.position_buckets,
                                                          config.max_relative_positions, options.offset_clamp)
                           : RelativeBuckets::clamped(length, length, config.span());
    const bool decodes = weights.has_absolute_table() && !config.position_biased_input &&
                         config.num_hidden_layers >= 2 && config.embedding_size == config.hidden_size;
    Tensor<double> x = embeddings;
    // The decoder asks the last layer twice; what the encoder itself makes of it is not read then.
    for (Index l = 0; l < config.num_hidden_layers - (decodes ? 1 : 0); ++l) {
        x = deberta_layer(pass, "layer." + std::to_string(l), l, x, x);
        if (l == 0 && config.conv_kernel_size > 0) x = deberta_convolution(pass, embeddings, x);
    }
    return decodes ? deberta_decoder(pass, x) : x;
}

}  // namespace

Tensor<double> sift_answers(const Replay& at, const Tensor<double>& x, bool behind_norm) {
    const DebertaWeights<double>& weights = at.deberta();
    Tensor<double> embeddings = x;
    if (!behind_norm)
        embeddings.rows() =
            layer_norm<double>(x.rows(), weights.norm("embeddings.LayerNorm"), weights.config().layer_norm_eps);
    hide_tokens(at, embeddings);
    const IndexTensor& labels = at.input().labels;
    if (labels.empty()) throw NotEnough{"labels"};
    const Tensor<double> hidden = hidden_behind(at, embeddings);
    std::vector<Index> targets;
    for (Index n = 0; n < labels.size(); ++n)
        if (labels[n] > 0) targets.push_back(n);
    if (targets.empty()) throw NotEnough{"a target"};
    Matrix<double> rows(static_cast<Index>(targets.size()), hidden.rows().cols());
    for (Index n = 0; n < rows.rows(); ++n) rows.row(n) = hidden.rows().row(targets[static_cast<std::size_t>(n)]);
    const HeadParts head = head_parts(at);
    rows = layer_norm<double>(activate<double>(dense<double>(rows, head.dense), head.activation), head.norm, head.eps);
    return word_scores(at, as_tensor<double>({rows.rows(), rows.cols()}, rows), head.bias);
}

std::vector<Formula> sift_answer_formulas(bool behind_norm) {
    const auto perturbed = [behind_norm](const char* by) {
        return [=](const Replay& at) { return sift_answers(at, sum_of(at("/sift.xhat"), at(by)), behind_norm); };
    };
    return {{"/sift.logits_clean",
             {"/sift.xhat"},
             [=](const Replay& at) { return sift_answers(at, at("/sift.xhat"), behind_norm); }},
            {"/sift.logits0", {"/sift.xhat", "/sift.delta0"}, perturbed("/sift.delta0")},
            {"/sift.logits", {"/sift.xhat", "/sift.delta"}, perturbed("/sift.delta")}};
}

double sift_learning_rate(const Replay& at) {
    const auto delta0 = at.expected("/sift.delta0"), delta = at.expected("/sift.delta"),
               grad = at.expected("/sift.grad");
    if (!delta0 || !delta || !grad || delta->shape() != delta0->shape() || grad->shape() != delta0->shape())
        throw NotEnough{"a step of the reference"};
    Index best = 0;
    for (Index n = 0; n < grad->size(); ++n)
        if (std::abs((*grad)[n]) > std::abs((*grad)[best])) best = n;
    const double largest = (*grad)[best];
    if (!(std::abs(largest) > 0)) throw NotEnough{"a gradient"};
    return ((*delta)[best] - (*delta0)[best]) * (1e-6 + std::abs(largest)) / largest;
}

Tensor<double> sift_step(const Replay& at, const SiftDirection& direction) {
    const double rate = sift_learning_rate(at);
    return sum_of(mapped(direction(at("/sift.grad")), [&](double entry) { return rate * entry; }), at("/sift.delta0"));
}

double cross_entropy_of(const RowVector<double>& p, const RowVector<double>& q) {
    const auto log_softmax = [](const RowVector<double>& logits) -> RowVector<double> {
        const double top = logits.maxCoeff();
        return (logits.array() - top - std::log((logits.array() - top).exp().sum())).matrix();
    };
    return -(log_softmax(p).array().exp() * log_softmax(q).array()).sum();
}

Tensor<double> sift_losses(const Tensor<double>& s, const Tensor<double>& t, const RowLoss& loss) {
    if (s.shape() != t.shape() || s.size() == 0) throw NotEnough{"rows of the same targets"};
    Tensor<double> losses({s.extent(0)});
    for (Index n = 0; n < losses.size(); ++n) losses[n] = loss(s.rows().row(n), t.rows().row(n));
    return losses;
}

std::vector<Formula> sift_loss_formulas(const RowLoss& loss) {
    return {{"/sift.loss0",
             {"/sift.logits0", "/sift.logits_clean"},
             [=](const Replay& at) { return sift_losses(at("/sift.logits0"), at("/sift.logits_clean"), loss); }},
            {"/sift.loss", {"/sift.logits", "/sift.logits_clean"}, [=](const Replay& at) -> Tensor<double> {
                 const Tensor<double> each = sift_losses(at("/sift.logits"), at("/sift.logits_clean"), loss);
                 double sum = 0;
                 for (const double one : each.values()) sum += one;
                 return {{1}, {sum / static_cast<double>(each.size())}};
             }}};
}

}  // namespace locus::conformance
