// The right formulas of replaced-token detection.
// He et al. 2023; microsoft/DeBERTa replaced_token_detection_model.py, rtd_task.py.
#include "core/conformance/formulas/objectives.h"

#include "core/conformance/formulas/deberta.h"
#include "core/models/deberta.h"

namespace locus::conformance {

namespace {

const char* const kHead = "mask_predictions.";

/// norm(h_0 + h): the first token of a sample is added to each of them.
Tensor<double> first_added(const Replay& at) {
    const Tensor<double> sum = detector_sum(at, true);
    return shaped(sum, layer_norm<double>(sum.rows(), detector_norm(at), config_of(at).layer_norm_eps));
}

Tensor<double> head_transform(const Replay& at) {
    const Tensor<double>& x = at("/rtd.norm");
    return shaped(x, activate<double>(dense<double>(x.rows(), detector_dense(at)), config_of(at).hidden_act));
}

/// One number per token; the axis of width 1 is gone.
Tensor<double> logits(const Replay& at) {
    const Tensor<double>& x = at("/rtd.transform");
    const Dense<double> classifier =
        at.model().weights.dense(std::string(kHead) + "classifier", 1, at.deberta().config().hidden_size);
    const Matrix<double> column = dense<double>(x.rows(), classifier);  // [B*T, 1]
    return {{x.extent(0), x.extent(1)}, {column.data(), column.data() + column.size()}};
}

/// Calls each(n, token) for every token that counts, n its place in [B,T].
template <class Each>
void for_counted(const Replay& at, const TokenRule& counts, Each each) {
    const ModelInput& input = at.input();
    if (input.labels.empty() || input.labels.size() != input.tokens.size()) throw NotEnough{"labels"};
    const Matrix<double> visible = visible_tokens<double>(input);
    for (Index n = 0; n < input.tokens.size(); ++n) {
        const DetectedToken token{input.tokens[n], input.labels[n], visible.size() == 0 || visible.data()[n] != 0};
        if (counts(token)) each(n, token);
    }
}

Tensor<double> row_of_numbers(std::vector<double> numbers) {
    const auto count = static_cast<Index>(numbers.size());
    return {{count}, std::move(numbers)};
}

}  // namespace

Tensor<double> detector_sum(const Replay& at, bool with_first) {
    const Tensor<double>& hidden = at("/layer." + std::to_string(config_of(at).num_hidden_layers - 1) + ".output");
    Tensor<double> sum = hidden;
    for (Index b = 0; b < sum.extent(0) && with_first; ++b) sum.matrix(b).rowwise() += hidden.matrix(b).row(0).eval();
    return sum;
}

Norm<double> detector_norm(const Replay& at) {
    return at.model().weights.norm(std::string(kHead) + "LayerNorm", config_of(at).hidden_size);
}

Dense<double> detector_dense(const Replay& at) {
    const Index width = config_of(at).hidden_size;
    return at.model().weights.dense(std::string(kHead) + "dense", width, width);
}

bool is_visible(const DetectedToken& token) { return token.visible; }
bool is_replaced(const DetectedToken& token) { return token.original > 0 && token.original != token.token; }

Tensor<double> replaced_labels(const Replay& at, const TokenRule& counts, const TokenRule& replaced) {
    std::vector<double> labels;
    for_counted(at, counts, [&](Index, const DetectedToken& token) { labels.push_back(replaced(token) ? 1 : 0); });
    return row_of_numbers(std::move(labels));
}

Tensor<double> replaced_losses(const Replay& at, const TokenRule& counts) {
    const Tensor<double>&scores = at("/rtd.logits"), &labels = at("/rtd.labels");
    std::vector<double> losses;
    for_counted(at, counts, [&](Index n, const DetectedToken&) {
        const auto place = static_cast<Index>(losses.size());
        if (place >= labels.size() || n >= scores.size()) throw NotEnough{"a label for every token that counts"};
        const double z = scores[n];
        losses.push_back(std::max(z, 0.0) - z * labels[place] + std::log1p(std::exp(-std::abs(z))));
    });
    if (static_cast<Index>(losses.size()) != labels.size()) throw NotEnough{"a logit for every label"};
    return row_of_numbers(std::move(losses));
}

std::vector<Formula> rtd_formulas() {
    return {
        {"/rtd.norm", {}, first_added},
        {"/rtd.transform", {"/rtd.norm"}, head_transform},
        {"/rtd.logits", {"/rtd.transform"}, logits},
        {"/rtd.labels", {}, [](const Replay& at) { return replaced_labels(at, is_visible, is_replaced); }},
        {"/rtd.loss", {"/rtd.logits", "/rtd.labels"}, [](const Replay& at) { return replaced_losses(at, is_visible); }},
    };
}

// The steps of SiFT: the model after perturbed embeddings, the step of the perturbation, the loss.

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
    return word_scores(at, "", as_tensor<double>({rows.rows(), rows.cols()}, rows), head.bias);
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

// The right formulas of SiFT.  He et al. 2021, section 4; microsoft/DeBERTa sift.py.

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
