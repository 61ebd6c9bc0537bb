#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Activation other_than(Activation right) { return right == Activation::tanh ? Activation::gelu : Activation::tanh; }

Formula activated(bool hide, bool other) {
    return {"conv_act", {"conv"}, [=](const Replay& at) {
                need_convolution(at);
                Tensor<double> values = at("conv");
                if (hide) hide_tokens(at, values);
                const Activation right = at.deberta().config().conv_act;
                return shaped(values, activate<double>(values.rows(), other ? other_than(right) : right));
            }};
}

Formula output(const char* base, bool hide) {
    return {"output", {"output_before_conv", "conv_act"}, [=](const Replay& at) {
                need_convolution(at);
                Tensor<double> values = merged(at, at(base), at("conv_act"));
                if (hide) hide_tokens(at, values);
                return values;
            }};
}

}  // namespace

Mistake mistake_44() {
    return {
        .number = 44,
        .name = "the convolution beside layer 0 is fed, joined, activated or masked in another way, or left out",
        .symptom = "layer.0.output is wrong although everything inside layer 0 is right",
        .betrays = "layer.0.output == norm(output_before_conv + act(mask conv(embeddings))) * mask fails",
        .evidence = "candle debertav2.rs: the convolution is todo!()",
        .lesson = "12",
        .families = {Family::deberta},
        .stems = {"conv", "conv_act", "output"},
        .variants = {{"fed with the output of layer 0",
                      {{"conv",
                        {"output_before_conv"},
                        [](const Replay& at) { return convolved(at, at("output_before_conv")); }}}},
                     {"added to the embeddings instead of the output of layer 0", {output("/embeddings.output", true)}},
                     {"tanh for gelu, or gelu for tanh", {activated(true, true)}},
                     {"not masked before its activation", {activated(false, false)}},
                     {"not masked after its norm", {output("output_before_conv", false)}},
                     {"left out", {{"output", {"output_before_conv"}, [](const Replay& at) {
                                        need_convolution(at);
                                        return at("output_before_conv");
                                    }}}}}};
}

}  // namespace locus::conformance
