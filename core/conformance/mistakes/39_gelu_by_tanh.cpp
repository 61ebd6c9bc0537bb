#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/formulas/layer_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Where the configuration wants another function nothing changes.
Matrix<double> by_tanh(const Matrix<double>& inner, Activation right) {
    return activate<double>(inner, right == Activation::gelu ? Activation::gelu_tanh : right);
}

Formula in_layers() {
    return {"ffn_act", {"attention"}, [](const Replay& at) {
                const Matrix<double> x = at("attention").rows();
                if (norm_first(at)) throw NotEnough{"a layer with its norms behind"};
                return shaped(at("attention"), by_tanh(dense<double>(x, ffn_dense_of(at)), activation_of(at)));
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

}  // namespace

Mistake mistake_39() {
    return {.number = 39,
            .name = "GELU by its tanh form instead of erf",
            .symptom = "a drift of 1e-4 to 1e-3 in ffn_act that grows with every layer",
            .betrays = "ffn_act == 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), up to 4.7e-4 off near |x| = 2.7",
            .evidence = "deberta.cpp 6fefa35",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::xlnet},
            .stems = {"ffn_act", "conv_act", "/mlm.transform"},
            .variants = {{"everywhere", {in_layers(), in_the_convolution(), in_the_head()}},
                         {"in the layers alone", {in_layers()}},
                         {"in the convolution alone", {in_the_convolution()}}}};
}

}  // namespace locus::conformance
