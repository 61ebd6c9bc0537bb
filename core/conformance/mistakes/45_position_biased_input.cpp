#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_45() {
    return {
        .number = 45,
        .name = "position_biased_input is not followed: absolute positions are added where it is false, or left out",
        .symptom = "embeddings.output is wrong everywhere, embeddings.word is right",
        .betrays = "before the norm embeddings.output differs from what it should be by the absolute table's rows",
        .evidence = "transformers #11345; microsoft/DeBERTa #52",
        .lesson = "04",
        .families = {Family::deberta},
        .stems = {"/embeddings.output"},
        .variants = {{"", {{"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) {
                                const auto& weights = at.deberta();
                                const DebertaConfig& config = weights.config();
                                Tensor<double> output = shaped(
                                    at("/embeddings.word"),
                                    layer_norm<double>(embedding_sum(at, !config.position_biased_input),
                                                       weights.norm("embeddings.LayerNorm"), config.layer_norm_eps));
                                hide_tokens(at, output);
                                return output;
                            }}}}}};
}

}  // namespace locus::conformance
