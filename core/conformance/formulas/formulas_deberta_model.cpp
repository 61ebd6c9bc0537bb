// The right formulas of DeBERTa around its layers: embeddings, convolution, masked words.
// He et al. 2021; microsoft/DeBERTa bert.py, masked_language_model.py.
#include "core/conformance/formulas/deberta_parts.h"

namespace locus::conformance {

namespace {

Tensor<double> embeddings_output(const Replay& at) {
    const auto& weights = at.deberta();
    Tensor<double> output =
        shaped(at("/embeddings.word"),
               layer_norm<double>(embedding_sum(at, weights.config().position_biased_input),
                                  weights.norm("embeddings.LayerNorm"), weights.config().layer_norm_eps));
    hide_tokens(at, output);  // after the norm, so that a hidden token is exactly 0
    return output;
}

Tensor<double> conv_act(const Replay& at) {
    Tensor<double> values = at("conv");
    hide_tokens(at, values);
    return shaped(values, activate<double>(values.rows(), at.deberta().config().conv_act));
}

Tensor<double> layer_output(const Replay& at) {
    if (!at.has_model() || !convolves(at)) return at("output_before_conv");
    Tensor<double> output = merged(at, at("output_before_conv"), at("conv_act"));
    hide_tokens(at, output);  // unlike the norms inside layers
    return output;
}

Tensor<double> what_the_head_reads(const Replay& at) {
    try {
        return at("/emd.1.output");
    } catch (const NotEnough&) {  // no decoder ran
        return at("/layer." + std::to_string(at.deberta().config().num_hidden_layers - 1) + ".output");
    }
}

Tensor<double> transform(const Replay& at) {
    const HeadParts head = head_parts(at);
    const Tensor<double>& x = head_input(at);
    return shaped(x, layer_norm<double>(activate<double>(dense<double>(x.rows(), head.dense), head.activation),
                                        head.norm, head.eps));
}

}  // namespace

std::vector<Formula> deberta_model_formulas() {
    return {
        {"/embeddings.word",
         {},
         [](const Replay& at) { return rows_of_tokens(at, "embeddings.word_embeddings.weight"); }},
        {"/embeddings.output", {"/embeddings.word"}, embeddings_output},
        {"conv", {"/embeddings.output"}, [](const Replay& at) { return convolved(at, at("/embeddings.output")); }},
        {"conv_act", {"conv"}, conv_act},
        {"output", {"output_before_conv", "conv_act"}, layer_output},
        {"/head_input", {"/emd.1.output"}, what_the_head_reads},  // never reported; links decoder and head
        {"/mlm.transform", {"/head_input"}, transform},
        {"/mlm.logits",
         {"/mlm.transform"},
         [](const Replay& at) { return word_scores(at, at("/mlm.transform"), head_parts(at).bias); }},
        {"/mlm.transform_at_positions",
         {"/mlm.transform"},
         [](const Replay& at) { return at_positions(at, at("/mlm.transform")); }},
        {"/mlm.logits_at_positions",
         {"/mlm.transform_at_positions"},
         [](const Replay& at) { return word_scores(at, at("/mlm.transform_at_positions"), head_parts(at).bias); }},
        {"/mlm.loss", {"/mlm.logits"}, [](const Replay& at) { return losses(at, at("/mlm.logits"), false); }},
    };
}

}  // namespace locus::conformance
