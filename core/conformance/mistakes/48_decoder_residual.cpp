#include "core/conformance/formulas/decoder_parts.h"
#include "core/conformance/formulas/layer_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_48() {
    return {.number = 48,
            .name = "the mask decoder's residual is h instead of the query",
            .symptom = "absolute positions reach the output of a pass through attention alone; masked words get worse",
            .betrays = "emd.t.attention == norm(dense(context) + h)",
            .evidence = "",
            .lesson = "13",
            .families = {Family::deberta},
            .stems = {"attention"},
            .variants = {{"", decoder_of({{"attention", {"context", "x"}, [](const Replay& at) {
                                               decoder_pass(at);
                                               const Tensor<double> sum = attention_sum(at, at("x"));
                                               return shaped(sum, layer_norm<double>(sum.rows(), attention_norm_of(at),
                                                                                     norm_eps_of(at)));
                                           }}})}}};
}

}  // namespace locus::conformance
