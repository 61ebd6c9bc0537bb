#include "core/conformance/formulas/decoder_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_49() {
    return {.number = 49,
            .name = "the absolute query never reaches attention in the mask decoder",
            .symptom = "logits do not change when the absolute table does",
            .betrays = "emd.0.q is the query projection of h; where the whole layer missed it, emd.0 is the last layer",
            .evidence = "",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"/emd.query.0", "q"},
            .variants = {{"the sum I + h is never made",
                          decoder_of({{"/emd.query.0", {}, [](const Replay& at) { return hidden_state(at, 2); }}})},
                         {"the layer is called without it", decoder_of({{"x_q",
                                                                         {"x"},
                                                                         [](const Replay& at) {
                                                                             decoder_pass(at);
                                                                             return at("x");
                                                                         }}})},
                         {"it is the residual alone", decoder_of({{"q", {"x"}, [](const Replay& at) {
                                                                       decoder_pass(at);
                                                                       return key_or_value(at, at("x"), 0);
                                                                   }}})}}};
}

}  // namespace locus::conformance
