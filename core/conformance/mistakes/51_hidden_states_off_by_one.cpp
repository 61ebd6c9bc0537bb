#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

void need_layer(const Replay& at) {
    if (!at.scope().ends_with("layer." + std::to_string(at.layer()) + ".")) throw NotEnough{"a layer of the encoder"};
}

}  // namespace

Mistake mistake_51() {
    return {.number = 51,
            .name = "a list of hidden states that begins with the embeddings is read as one that does not",
            .symptom = "every layer's output looks shifted by one layer; hs[-2] is right",
            .betrays = "layer.l.output == the output of layer l - 1",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"output"},
            .variants = {{"one too early",
                          {{"output",
                            {"x"},
                            [](const Replay& at) {
                                need_layer(at);
                                return at("x");
                            }}}},
                         {"one too late", {{"output", {}, [](const Replay& at) {
                                                need_layer(at);
                                                const auto next =
                                                    at.expected("/layer." + std::to_string(at.layer() + 1) + ".output");
                                                if (!next) throw NotEnough{"a layer behind"};
                                                return *next;
                                            }}}}}};
}

}  // namespace locus::conformance
