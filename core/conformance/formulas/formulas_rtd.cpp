// The right formulas of replaced-token detection.
// He et al. 2023; microsoft/DeBERTa replaced_token_detection_model.py, rtd_task.py.
#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/formulas/rtd_parts.h"
#include "core/models/deberta.h"

namespace locus::conformance {

namespace {

const char* const kHead = "mask_predictions.";

/// norm(h_0 + h): the first token of a sample is added to each of them.
Tensor<double> first_added(const Replay& at) {
    const DebertaConfig& config = at.deberta().config();
    const std::string last = "/layer." + std::to_string(config.num_hidden_layers - 1) + ".output";
    Tensor<double> sum = at(last);
    const Tensor<double>& hidden = at(last);
    for (Index b = 0; b < sum.extent(0); ++b) sum.matrix(b).rowwise() += hidden.matrix(b).row(0).eval();
    const Norm<double> norm = at.model().weights.norm(std::string(kHead) + "LayerNorm", config.hidden_size);
    return shaped(sum, layer_norm<double>(sum.rows(), norm, config.layer_norm_eps));
}

Tensor<double> transform(const Replay& at) {
    const DebertaConfig& config = at.deberta().config();
    const Dense<double> inner =
        at.model().weights.dense(std::string(kHead) + "dense", config.hidden_size, config.hidden_size);
    return shaped(at("/rtd.norm"), activate<double>(dense<double>(at("/rtd.norm").rows(), inner), config.hidden_act));
}

/// One number per token; the axis of width 1 is gone.
Tensor<double> logits(const Replay& at) {
    const Tensor<double>& x = at("/rtd.transform");
    const Dense<double> classifier =
        at.model().weights.dense(std::string(kHead) + "classifier", 1, at.deberta().config().hidden_size);
    return as_tensor<double>({x.extent(0), x.extent(1)}, dense<double>(x.rows(), classifier));
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
        {"/rtd.transform", {"/rtd.norm"}, transform},
        {"/rtd.logits", {"/rtd.transform"}, logits},
        {"/rtd.labels", {}, [](const Replay& at) { return replaced_labels(at, is_visible, is_replaced); }},
        {"/rtd.loss", {"/rtd.logits", "/rtd.labels"}, [](const Replay& at) { return replaced_losses(at, is_visible); }},
    };
}

}  // namespace locus::conformance
