// Replaced-token detection.  He et al. 2023; microsoft/DeBERTa replaced_token_detection_model.py, rtd_task.py.
#include "tests/conformance/toy/toy_training.h"

#include <algorithm>
#include <cmath>

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
bool is_labelled_replaced(std::int64_t token, std::int64_t original, const Injection& injected) {
    const bool sampled = original != 0, changed = original != token;
    if (injected.is(54, 0)) return sampled;
    if (injected.is(54, 1)) return changed;
    return (sampled && changed) != injected.is(54, 2);
}

/// 54, 3 ... 5: other tokens.
bool has_a_loss(bool visible, std::int64_t original, const Injection& injected) {
    if (injected.is(54, 3)) return true;
    if (injected.is(54, 4)) return original != 0;
    return visible;
}

}  // namespace

template <class Scalar>
Trace toy_rtd(const TrainingGiven& given, const Injection& injected) {
    ToyOptions options;
    options.injected = injected;
    const Toolbox<Scalar> tools(*given.weights, options, given.config.layer_norm_eps);
    const ModelInput& input = *given.input;
    const Array<Scalar> hidden = hidden_of<Scalar>(given);
    Array<Scalar> sum = hidden;
    const bool without_first = injected.is(54, 6) || injected.is(54, 8), norm_behind = injected.is(54, 9);
    for (Index b = 0; b < hidden.extent(0) && !without_first; ++b)
        for (Index t = 0; t < hidden.extent(1); ++t)
            for (Index c = 0; c < hidden.width(); ++c) sum(b, t, c) += hidden(b, 0, c);
    const bool without_norm = injected.is(54, 7) || injected.is(54, 8) || norm_behind;
    const Array<Scalar> norm = without_norm ? sum : tools.norm(sum, "mask_predictions.LayerNorm");
    Array<Scalar> act = tools.activated(tools.dense(norm, "mask_predictions.dense"), given.config.hidden_act);
    if (norm_behind) act = tools.norm(act, "mask_predictions.LayerNorm");
    Array<Scalar> logits = tools.dense(act, "mask_predictions.classifier");
    logits.shape.pop_back();
    if (injected.is(54, 10))
        for (Scalar& logit : logits.values) logit = 1 / (1 + std::exp(-logit));

    std::vector<std::int64_t> labels;
    std::vector<Scalar> losses;
    Scalar all_losses = 0;
    for (Index n = 0; n < input.tokens.size(); ++n) {
        const bool replaced = is_labelled_replaced(input.tokens[n], input.labels[n], injected);
        const Scalar logit = logits.values[static_cast<std::size_t>(n)];
        const Scalar loss = replaced ? softplus(-logit) : softplus(logit);
        all_losses += loss;
        if (!has_a_loss(input.mask.empty() || input.mask[n] != 0, input.labels[n], injected)) continue;
        labels.push_back(replaced);
        losses.push_back(loss);
    }
    if (injected.is(54, 5)) losses = {all_losses / static_cast<Scalar>(input.tokens.size())};
    Trace trace;
    trace.add("rtd.norm", as_stage(norm));
    trace.add("rtd.transform", as_stage(act));
    trace.add("rtd.logits", as_stage(logits));
    const Shape counted = {static_cast<Index>(labels.size())}, kept = {static_cast<Index>(losses.size())};
    trace.add("rtd.labels", IndexTensor(counted, std::move(labels)));
    trace.add("rtd.loss", Tensor<Scalar>(kept, std::move(losses)));
    return trace;
}

template Trace toy_rtd<float>(const TrainingGiven&, const Injection&);
template Trace toy_rtd<double>(const TrainingGiven&, const Injection&);

// SiFT.  He et al. 2021, section 4; microsoft/DeBERTa sift.py.

namespace {

template <class Scalar>
Array<Scalar> values_of(const Trace& from, const std::string& name) {
    const Stage& stage = from.at(name);
    Array<Scalar> values(stage.shape());
    for (Index n = 0; n < stage.size(); ++n)
        values.values[static_cast<std::size_t>(n)] = static_cast<Scalar>(stage.at(n));
    return values;
}

/// 55, 0 ... 2: something else is perturbed.
template <class Scalar>
Array<Scalar> perturbed_input(const TrainingGiven& given, const Toolbox<Scalar>& tools) {
    const ModelInput& input = *given.input;
    const Injection& injected = tools.injected();
    const Array<Scalar> words = tools.weight("embeddings.word_embeddings.weight");
    const Array<Scalar> positions = tools.weight("embeddings.position_embeddings.weight");
    Array<Scalar> x({input.batch(), input.length(), words.width()});
    for (Index n = 0; n < x.runs(); ++n)
        for (Index c = 0; c < x.width(); ++c) {
            x.run(n)[c] = words(input.tokens[n], c);
            if (given.config.position_biased_input) x.run(n)[c] += positions(n % input.length(), c);
        }
    if (injected.is(55, 0)) return x;
    if (!injected.is(55, 1) && !injected.is(55, 2)) return tools.norm(x, {}, {});
    x = tools.norm(x, "embeddings.LayerNorm");
    for (Index n = 0; n < x.runs() && injected.is(55, 2) && !input.mask.empty(); ++n)
        for (Index c = 0; c < x.width(); ++c) x.run(n)[c] *= static_cast<Scalar>(input.mask[n]);
    return x;
}

/// The number that entries first ... last - 1 of a gradient are divided by; 55, 5 and 6: their length.
template <class Scalar>
Scalar size_of(const Array<Scalar>& grad, Index first, Index last, const Injection& injected) {
    Scalar top = 0, squares = 0;
    for (Index n = first; n < last; ++n) {
        const Scalar entry = std::abs(grad.values[static_cast<std::size_t>(n)]);
        top = std::max(top, entry);
        squares += entry * entry;
    }
    return injected.is(55, 5) || injected.is(55, 6) ? std::sqrt(squares) : top;
}

/// 55, 3 ... 7: another direction.
template <class Scalar>
Array<Scalar> step(const Array<Scalar>& delta0, const Array<Scalar>& grad, double rate, const Injection& injected) {
    const auto size = static_cast<Index>(grad.values.size());
    const Index per_sample = grad.extent(1) * grad.extent(2);
    const Index part = injected.is(55, 3) ? size : injected.is(55, 4) || injected.is(55, 6) ? per_sample : grad.width();
    Array<Scalar> delta = delta0;
    for (Index first = 0; first < size; first += part) {
        const Scalar divisor =
            size_of(grad, first, first + part, injected) + static_cast<Scalar>(injected.is(55, 6) ? 0 : 1e-6);
        for (auto n = static_cast<std::size_t>(first); n < static_cast<std::size_t>(first + part); ++n) {
            const Scalar entry = grad.values[n];
            const Scalar by_sign = entry > 0 ? Scalar(1) : entry < 0 ? Scalar(-1) : Scalar(0);
            delta.values[n] += static_cast<Scalar>(rate) * (injected.is(55, 7) ? by_sign : entry / divisor);
        }
    }
    return delta;
}

/// H(s,t) + H(t,s) of a row of logits each; 55, 8: minus both entropies.
template <class Scalar>
Scalar both_ways(const Scalar* s, const Scalar* t, Index words, const Injection& injected) {
    Scalar loss = 0;
    for (Index c = 0; c < words; ++c) {
        const Scalar of_s = surprise(s, words, c), of_t = surprise(t, words, c);
        loss += std::exp(-of_s) * of_t + std::exp(-of_t) * of_s;
        if (injected.is(55, 8)) loss -= std::exp(-of_s) * of_s + std::exp(-of_t) * of_t;
    }
    return loss;
}

template <class Scalar>
Array<Scalar> losses(const Array<Scalar>& s, const Array<Scalar>& t, const Injection& injected) {
    Array<Scalar> each({s.runs()});
    for (Index n = 0; n < s.runs(); ++n) each(n) = both_ways(s.run(n), t.run(n), s.width(), injected);
    return each;
}

}  // namespace

template <class Scalar>
Trace toy_sift(const TrainingGiven& given, const Injection& injected) {
    ToyOptions options;
    options.injected = injected;
    const Toolbox<Scalar> tools(*given.weights, options, 1e-7);
    const auto answer = [&](const char* name) { return values_of<Scalar>(*given.answers, name); };
    Array<Scalar> delta0 = values_of<Scalar>(*given.tensors, "noise");
    const auto bound = static_cast<Scalar>(2 * given.sigma);
    for (Scalar& entry : delta0.values) entry = std::min(std::max(entry, -bound), bound);
    const Array<Scalar> clean = answer("sift.logits_clean"), first = answer("sift.logits0"),
                        second = answer("sift.logits"), grad = answer("sift.grad");
    const Array<Scalar> each = losses(second, clean, injected);
    Array<Scalar> mean({1});
    for (const Scalar loss : each.values) mean(0) += loss / static_cast<Scalar>(each.values.size());

    Trace trace;
    trace.add("sift.xhat", as_stage(perturbed_input(given, tools)));
    trace.add("sift.delta0", as_stage(delta0));
    trace.add("sift.logits_clean", as_stage(clean));
    trace.add("sift.logits0", as_stage(first));
    trace.add("sift.loss0", as_stage(losses(first, clean, injected)));
    trace.add("sift.grad", as_stage(grad));
    trace.add("sift.delta", as_stage(step(delta0, grad, given.learning_rate, injected)));
    trace.add("sift.logits", as_stage(second));
    trace.add("sift.loss", as_stage(mean));
    return trace;
}

template Trace toy_sift<float>(const TrainingGiven&, const Injection&);
template Trace toy_sift<double>(const TrainingGiven&, const Injection&);

}  // namespace locus::conformance::toy
