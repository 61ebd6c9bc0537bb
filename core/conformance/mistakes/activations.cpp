// Mistakes 39 and 99.  Gelu by its tanh form, and other activations than the configuration's.
#include <algorithm>
#include <cmath>

#include "core/conformance/formulas/classifiers.h"
#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/conformance/formulas/objectives.h"
#include "core/conformance/mistakes/catalogue.h"

namespace locus::conformance {

namespace gelu_by_tanh {  // mistake 39

/// Where the configuration wants another function nothing changes.
Matrix<double> by_tanh(const Matrix<double>& inner, Activation right) {
    return activate<double>(inner, right == Activation::gelu ? Activation::gelu_tanh : right);
}

Formula in_layers() {
    return {"ffn_act", {"attention"}, [](const Replay& at) {
                return shaped(at("attention"),
                              by_tanh(dense<double>(ffn_input(at), ffn_dense_of(at)), activation_of(at)));
            }};
}

Formula in_the_convolution() {
    return {"conv_act", {"conv"}, [](const Replay& at) {
                need_convolution(at);
                Tensor<double> values = at("conv");
                hide_tokens(at, values);
                return shaped(values, by_tanh(values.rows(), at.deberta().config().conv_act));
            }};
}

Formula in_the_head() {
    return {"/mlm.transform", {"/head_input"}, [](const Replay& at) {
                const HeadParts head = head_parts(at);
                const Tensor<double>& x = head_input(at);
                return shaped(x, layer_norm<double>(by_tanh(dense<double>(x.rows(), head.dense), head.activation),
                                                    head.norm, head.eps));
            }};
}

/// Of the head of replaced-token detection.
Formula in_the_detector() {
    return {"/rtd.transform", {"/rtd.norm"}, [](const Replay& at) {
                const Tensor<double>& x = at("/rtd.norm");
                return shaped(x, by_tanh(dense<double>(x.rows(), detector_dense(at)), config_of(at).hidden_act));
            }};
}

Formula in_the_pooler() {
    return pooler_with([](const Matrix<double>& inner) { return activate<double>(inner, Activation::gelu_tanh); });
}

Mistake mistake() {
    return {.number = 39,
            .name = "GELU by its tanh form instead of erf",
            .symptom = "a drift of 1e-4 to 1e-3 in ffn_act that grows with every layer",
            .betrays = "ffn_act == 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), up to 4.7e-4 off near |x| = 2.7",
            .evidence = "deberta.cpp 6fefa35",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::xlnet},
            .stems = {"ffn_act", "conv_act", "/classifier.pooled", "/mlm.transform", "/rtd.transform"},
            .variants = {
                {"everywhere", {in_layers(), in_the_convolution(), in_the_pooler(), in_the_head(), in_the_detector()}},
                {"in the layers alone", {in_layers()}},
                {"in the convolution alone", {in_the_convolution()}},
                {"in the head alone", {in_the_head()}},
                {"in the pooler alone", {in_the_pooler()}}}};
}

}  // namespace gelu_by_tanh

namespace another_activation {  // mistake 99

using Function = double (*)(double);

Matrix<double> by(Function function, const Matrix<double>& inner) { return inner.unaryExpr(function); }

/// Transformer-XL, whose layers have a ReLU.
Formula gelu_in_layers(Activation gelu) {
    return {"ffn_act", {"attention"}, [gelu](const Replay& at) {
                if (activation_of(at) != Activation::relu) throw NotEnough{"a ReLU"};
                return shaped(at("attention"), activate<double>(dense<double>(ffn_input(at), ffn_dense_of(at)), gelu));
            }};
}

Formula in_layers(Function function) {
    return {"ffn_act", {"attention"}, [function](const Replay& at) {
                return shaped(at("attention"), by(function, dense<double>(ffn_input(at), ffn_dense_of(at))));
            }};
}

Formula in_the_head(Function function) {
    return {"/mlm.transform", {"/head_input"}, [function](const Replay& at) {
                const HeadParts head = head_parts(at);
                const Tensor<double>& x = head_input(at);
                return shaped(
                    x, layer_norm<double>(by(function, dense<double>(x.rows(), head.dense)), head.norm, head.eps));
            }};
}

Formula in_the_detector(Function function) {
    return {"/rtd.transform", {"/rtd.norm"}, [function](const Replay& at) {
                const Tensor<double>& x = at("/rtd.norm");
                return shaped(x, by(function, dense<double>(x.rows(), detector_dense(at))));
            }};
}

Formula in_the_convolution(Function function) {
    return {"conv_act", {"conv"}, [function](const Replay& at) {
                need_convolution(at);
                if (at.deberta().config().conv_act != Activation::gelu) return at.right("conv_act");
                Tensor<double> values = at("conv");
                hide_tokens(at, values);
                return shaped(values, by(function, values.rows()));
            }};
}

/// The configuration's own, of its own values.
Formula twice_in_layers() {
    return {"ffn_act", {"attention"}, [](const Replay& at) {
                const Tensor<double> right = at.right("ffn_act");
                return shaped(right, activate<double>(right.rows(), activation_of(at)));
            }};
}

/// The configuration's own once more, behind the second feed-forward layer.
Formula behind_the_second_layer() {
    return {"ffn", {"ffn_act"}, [](const Replay& at) {
                const Tensor<double> right = at.right("ffn");
                return shaped(right, activate<double>(right.rows(), activation_of(at)));
            }};
}

Mistake mistake() {
    const auto everywhere = [](const char* how, Function function) {
        return Variant{how,
                       {in_layers(function), in_the_convolution(function),
                        pooler_with([function](const Matrix<double>& inner) { return by(function, inner); }),
                        in_the_head(function), in_the_detector(function)}};
    };
    const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
    static const auto kLogistic = +logistic;
    return {.number = 99,
            .name = "another activation than the configuration says, or one too many",
            .symptom = "ffn_act is wrong everywhere, by a few percent or altogether",
            .betrays = "ffn_act is another function of dense(attention): 0 below 0, x sigmoid(1.702 x), x sigmoid(x)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"ffn_act", "conv_act", "/classifier.pooled", "/mlm.transform", "/rtd.transform", "ffn"},
            .variants = {everywhere("relu", [](double x) { return std::max(x, 0.0); }),
                         everywhere("x sigmoid(1.702 x)", [](double x) { return x * kLogistic(1.702 * x); }),
                         everywhere("x sigmoid(x)", [](double x) { return x * kLogistic(x); }),
                         everywhere("none", [](double x) { return x; }),
                         {"gelu for relu", {gelu_in_layers(Activation::gelu)}},
                         {"gelu by its tanh form for relu", {gelu_in_layers(Activation::gelu_tanh)}},
                         everywhere("relu, squared", [](double x) { return x > 0 ? x * x : 0; }),
                         everywhere("elu", [](double x) { return x > 0 ? x : std::expm1(x); }),
                         everywhere("tanh", [](double x) { return std::tanh(x); }),
                         {"behind the second feed-forward layer too", {behind_the_second_layer()}, {"ffn"}},
                         everywhere("x (1 + erf(x)) / 2, gelu without the root of 2",
                                    [](double x) { return x * (1 + std::erf(x)) / 2; }),
                         everywhere("ln(1 + exp(x)), softplus", [](double x) { return std::log1p(std::exp(x)); }),
                         everywhere("relu with 0.01 x below 0", [](double x) { return x > 0 ? x : 0.01 * x; }),
                         everywhere("sigmoid(x)", [](double x) { return kLogistic(x); }),
                         everywhere("relu with 0.2 x below 0", [](double x) { return x > 0 ? x : 0.2 * x; }),
                         everywhere("x tanh(ln(1 + exp(x))), mish",
                                    [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }),
                         {"twice, one behind the other", {twice_in_layers()}, {"ffn_act"}}}};
}

}  // namespace another_activation

std::vector<Mistake> gelu_mistakes() { return {gelu_by_tanh::mistake()}; }
std::vector<Mistake> activation_mistakes() { return {another_activation::mistake()}; }

}  // namespace locus::conformance
