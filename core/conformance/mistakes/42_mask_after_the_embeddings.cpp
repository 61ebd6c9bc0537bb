#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Tensor<double> unmasked(const Replay& at, bool before_the_norm) {
    const auto& weights = at.deberta();
    Tensor<double> sum = shaped(at("/embeddings.word"), embedding_sum(at, weights.config().position_biased_input));
    if (before_the_norm) hide_tokens(at, sum);
    return shaped(
        sum, layer_norm<double>(sum.rows(), weights.norm("embeddings.LayerNorm"), weights.config().layer_norm_eps));
}

}  // namespace

Mistake mistake_42() {
    return {.number = 42,
            .name = "the embeddings are not multiplied by the mask after their norm",
            .symptom = "padding is not 0; a convolution carries it into the last real token",
            .betrays = "embeddings.output of hidden tokens is not 0; visible rows are right",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"/embeddings.output"},
            .variants = {
                {"not at all",
                 {{"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) { return unmasked(at, false); }}}},
                {"before the norm, so that hidden tokens hold its bias",
                 {{"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) { return unmasked(at, true); }}}}}};
}

}  // namespace locus::conformance
