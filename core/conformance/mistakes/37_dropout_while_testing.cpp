#include <nlohmann/json.hpp>

#include "core/conformance/diagnosis/wrong_masks.h"
#include "core/conformance/formulas/layer_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// 1 - p of one of the names that families give to dropout.  Throws NotEnough where there is none, or p is 0.
double kept(const Replay& at, const std::vector<const char*>& names) {
    const nlohmann::json config = nlohmann::json::parse(at.model().config_json);
    for (const char* name : names)
        if (config.contains(name) && config[name].is_number()) {
            const double p = config[name];
            if (p > 0 && p < 1) return 1 - p;
        }
    throw NotEnough{"a dropout probability"};
}

std::vector<const char*> of_attention() { return {"attention_probs_dropout_prob", "dropatt"}; }
std::vector<const char*> of_hidden() { return {"hidden_dropout_prob", "dropout"}; }

Formula scaled(const char* stem, std::vector<std::string> inputs, std::vector<const char*> (*names)(), int power) {
    return {stem, std::move(inputs), [=](const Replay& at) {
                const double factor = std::pow(kept(at, names()), power);
                return mapped(at.right(stem), [&](double value) { return value * factor; });
            }};
}

/// softmax((1 - p) scores).
Formula before_softmax() {
    return probs_by([](const Replay& at, const Matrix<double>& scores, Index b, Index h) {
        return masked_softmax<double>(kept(at, of_attention()) * scores, visible_pairs(at, b, h), at.masked_row());
    });
}

/// norm((1 - p) dense(context) + x_q).
Formula scaled_dense() {
    return {"attention", {"context", "x_q"}, [](const Replay& at) {
                const double factor = kept(at, of_hidden());
                const Tensor<double> residual = mapped(at("x_q"), [&](double value) { return value / factor; });
                const Tensor<double> sum =
                    mapped(attention_sum(at, residual), [&](double value) { return value * factor; });
                if (norm_first(at)) return sum;
                return shaped(sum, layer_norm<double>(sum.rows(), attention_norm_of(at), norm_eps_of(at)));
            }};
}

std::vector<Variant> dropout_while_testing() {
    std::vector<Variant> all = {{"scores are scaled by 1 - p before the softmax", {before_softmax()}}};
    all.push_back({"the dense layer behind attention times 1 - p", {scaled_dense()}});
    for (const auto names : {of_attention, of_hidden}) {
        const std::string p = names == of_attention ? "p of attention" : "p of hidden states";
        for (const int power : {1, -1}) {
            const std::string by = std::string(power == 1 ? " times" : " divided by") + " 1 - p, " + p;
            all.push_back({"probs" + by, {scaled("probs", {"scores", "scores_mixed"}, names, power)}});
            all.push_back({"probs are right, context" + by, {scaled("context", {"probs", "v"}, names, power)}});
        }
    }
    return all;
}

}  // namespace

Mistake mistake_37() {
    return {.number = 37,
            .name = "dropout acts outside training: its factor 1 - p is left on, or it stands before the softmax",
            .symptom = "the mean of the output shifts",
            .betrays = "rows of probs sum to 1 - p",
            .evidence = "",
            .lesson = "02",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"probs", "context", "attention"},
            .variants = dropout_while_testing()};
}

}  // namespace locus::conformance
