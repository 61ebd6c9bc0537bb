// He et al. 2023; microsoft/DeBERTa replaced_token_detection_model.py, rtd_task.py.
#include <cmath>

#include "tests/conformance/toy/toy_training.h"

namespace locus::conformance::toy {

namespace {

template <class Scalar>
Array<Scalar> hidden_of(const TrainingGiven& given) {
    const Stage& stage = given.tensors->at("hidden");
    Array<Scalar> hidden(stage.shape());
    for (Index n = 0; n < stage.size(); ++n)
        hidden.values[static_cast<std::size_t>(n)] = static_cast<Scalar>(stage.at(n));
    return hidden;
}

template <class Scalar>
Scalar softplus(Scalar x) {
    return x > 0 ? x + std::log(1 + std::exp(-x)) : std::log(1 + std::exp(x));
}

/// 54, 0 ... 2: other labels.
bool is_labelled_replaced(std::int64_t token, std::int64_t original, const Slip& slip) {
    const bool sampled = original != 0, changed = original != token;
    if (slip.is(54, 0)) return sampled;
    if (slip.is(54, 1)) return changed;
    return (sampled && changed) != slip.is(54, 2);
}

/// 54, 3 ... 5: other tokens.
bool has_a_loss(bool visible, std::int64_t original, const Slip& slip) {
    if (slip.is(54, 3)) return true;
    if (slip.is(54, 4)) return original != 0;
    return visible;
}

}  // namespace

template <class Scalar>
Trace toy_rtd(const TrainingGiven& given, const Slip& slip) {
    ToyOptions options;
    options.slip = slip;
    const Toolbox<Scalar> tools(*given.weights, options, given.config.layer_norm_eps);
    const ModelInput& input = *given.input;
    const Array<Scalar> hidden = hidden_of<Scalar>(given);
    Array<Scalar> sum = hidden;
    for (Index b = 0; b < hidden.extent(0); ++b)
        for (Index t = 0; t < hidden.extent(1); ++t)
            for (Index c = 0; c < hidden.width(); ++c) sum(b, t, c) += hidden(b, 0, c);
    const Array<Scalar> norm = tools.norm(sum, "mask_predictions.LayerNorm");
    const Array<Scalar> act = tools.activated(tools.dense(norm, "mask_predictions.dense"), given.config.hidden_act);
    Array<Scalar> logits = tools.dense(act, "mask_predictions.classifier");
    logits.shape.pop_back();

    std::vector<std::int64_t> labels;
    std::vector<Scalar> losses;
    Scalar all_losses = 0;
    for (Index n = 0; n < input.tokens.size(); ++n) {
        const bool replaced = is_labelled_replaced(input.tokens[n], input.labels[n], slip);
        const Scalar logit = logits.values[static_cast<std::size_t>(n)];
        const Scalar loss = replaced ? softplus(-logit) : softplus(logit);
        all_losses += loss;
        if (!has_a_loss(input.mask.empty() || input.mask[n] != 0, input.labels[n], slip)) continue;
        labels.push_back(replaced);
        losses.push_back(loss);
    }
    if (slip.is(54, 5)) losses = {all_losses / static_cast<Scalar>(input.tokens.size())};
    Trace trace;
    trace.add("rtd.norm", as_stage(norm));
    trace.add("rtd.transform", as_stage(act));
    trace.add("rtd.logits", as_stage(logits));
    const Shape counted = {static_cast<Index>(labels.size())}, kept = {static_cast<Index>(losses.size())};
    trace.add("rtd.labels", IndexTensor(counted, std::move(labels)));
    trace.add("rtd.loss", Tensor<Scalar>(kept, std::move(losses)));
    return trace;
}

template Trace toy_rtd<float>(const TrainingGiven&, const Slip&);
template Trace toy_rtd<double>(const TrainingGiven&, const Slip&);

}  // namespace locus::conformance::toy
