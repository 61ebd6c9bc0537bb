// The right formulas of Transformer-XL, stage by stage.  Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py.
#include <cmath>

#include "core/attention/relative.h"
#include "core/conformance/diagnosis/relative.h"

namespace locus::conformance {

namespace {

constexpr const char* kWordTable = "word_emb.emb_layers.0.weight";
constexpr const char* kInputProjection = "word_emb.emb_projs.0";
constexpr const char* kOutputTable = "crit.out_layers.0.weight";
constexpr const char* kOutputBias = "crit.out_layers.0.bias";
constexpr const char* kOutputProjection = "crit.out_projs.0";

const WeightReader<double>& weights(const Replay& at) { return at.model().weights; }

std::string attention_of(const Replay& at) { return "layers." + std::to_string(at.layer()) + ".dec_attn."; }
std::string ffn_of(const Replay& at) { return "layers." + std::to_string(at.layer()) + ".pos_ff."; }

Tensor<double> embeddings_output(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    Matrix<double> rows = at("/embeddings.word").rows();
    if (config.d_embed != config.d_model)
        rows *= weights(at).matrix(kInputProjection, {config.d_model, config.d_embed}).transpose();
    return shaped(at("/embeddings.word"), rows * std::sqrt(static_cast<double>(config.d_model)));
}

/// Rows part * H * d ... of qkv_net: 0 q, 1 k, 2 v.
Dense<double> projection(const Replay& at, Index part) {
    const TransformerXlConfig& config = at.transformer_xl();
    const Index heads = config.n_head * config.d_head;
    const Matrix<double> qkv = weights(at).matrix(attention_of(at) + "qkv_net.weight", {3 * heads, config.d_model});
    return {qkv.middleRows(part * heads, heads), {}};
}

/// With pre_lnorm what q, k and v are made of is normed, the memory too.
Tensor<double> projected(const Replay& at, Tensor<double> x, Index part) {
    const TransformerXlConfig& config = at.transformer_xl();
    if (config.pre_lnorm)
        x.rows() = layer_norm<double>(x.rows(), weights(at).norm(attention_of(at) + "layer_norm", config.d_model),
                                      config.layer_norm_eps);
    return project_heads<double>(x, projection(at, part), config.n_head);
}

Tensor<double> r_k_of(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    return project_positions<double>(
        at("/positions.r").matrix(),
        weights(at).matrix(attention_of(at) + "r_net.weight", {config.n_head * config.d_head, config.d_model}),
        config.n_head);
}

/// u or v: one for all layers, unless untied.
Tensor<double> bias_of(const Replay& at, const char* name) {
    const TransformerXlConfig& config = at.transformer_xl();
    const Matrix<double> bias =
        weights(at).matrix((config.untie_r ? attention_of(at) : std::string()) + name, {config.n_head, config.d_head});
    return as_tensor<double>({bias.rows(), bias.cols()}, bias);
}

Tensor<double> visible_of(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    const Mask mask = transformer_xl_mask(queries_of(at), at.remembered(), config.same_length, config.mem_len);
    return as_visible(std::vector<Mask>(static_cast<std::size_t>(at.input().batch()), mask));
}

Tensor<double> query_tokens_of(const Replay& at) {
    Tensor<double> tokens({at.input().batch(), queries_of(at)});
    for (Index n = 0; n < tokens.size(); ++n) tokens[n] = static_cast<double>(n % tokens.extent(1));
    return tokens;
}

BlockWeights block() {
    return {
        [](const Replay& at) {
            const TransformerXlConfig& config = at.transformer_xl();
            return Dense<double>{
                weights(at).matrix(attention_of(at) + "o_net.weight", {config.d_model, config.n_head * config.d_head}),
                {}};
        },
        [](const Replay& at) { return weights(at).norm(attention_of(at) + "layer_norm", at.transformer_xl().d_model); },
        [](const Replay& at) {
            return weights(at).dense(ffn_of(at) + "CoreNet.0", at.transformer_xl().d_inner,
                                     at.transformer_xl().d_model);
        },
        [](const Replay& at) {
            return weights(at).dense(ffn_of(at) + "CoreNet.3", at.transformer_xl().d_model,
                                     at.transformer_xl().d_inner);
        },
        [](const Replay& at) { return weights(at).norm(ffn_of(at) + "layer_norm", at.transformer_xl().d_model); },
        [](const Replay&) { return Activation::relu; },
        [](const Replay& at) { return at.transformer_xl().layer_norm_eps; },
        [](const Replay& at) { return at.transformer_xl().pre_lnorm; }};
}

Tensor<double> lm_logits(const Replay& at) {
    const TransformerXlConfig& config = at.transformer_xl();
    if (config.hierarchical) throw NotEnough{"a plain softmax"};
    const Tensor<double>& x = at("/layer." + std::to_string(config.n_layer - 1) + ".output");
    Matrix<double> rows = x.rows();
    if (config.d_embed != config.d_model)
        rows *= weights(at).matrix(weights(at).has(kOutputProjection) ? kOutputProjection : kInputProjection,
                                   {config.d_model, config.d_embed});
    return logits_of(x, rows, weights(at).block(config.tied_output ? kWordTable : kOutputTable, 0, config.vocab_size),
                     weights(at).vector(kOutputBias, config.vocab_size));
}

}  // namespace

std::vector<Formula> transformer_xl_formulas() {
    std::vector<Formula> all = {
        {"/embeddings.word", {}, [](const Replay& at) { return rows_of_tokens(at, kWordTable); }},
        {"/embeddings.output", {"/embeddings.word"}, embeddings_output},
        {"/positions.r",
         {},
         [](const Replay& at) {
             return sinusoids_of(at, transformer_xl_distances(keys_of(at), at.transformer_xl().clamp_len),
                                 SinusoidLayout::concatenated);
         }},
        {"visible", {}, visible_of},
        {"query_tokens", {}, query_tokens_of},
        {"bias.u", {}, [](const Replay& at) { return bias_of(at, "r_w_bias"); }},
        {"bias.v", {}, [](const Replay& at) { return bias_of(at, "r_r_bias"); }},
        {"q", {"x_q"}, [](const Replay& at) { return projected(at, at("x_q"), 0); }},
        {"k", {"memory_before", "x"}, [](const Replay& at) { return projected(at, behind_memory_of(at), 1); }},
        {"v", {"memory_before", "x"}, [](const Replay& at) { return projected(at, behind_memory_of(at), 2); }},
        {"r_k", {"/positions.r"}, r_k_of},
    };
    for (Formula& formula : relative_formulas()) all.push_back(std::move(formula));
    for (Formula& formula : block_formulas(block())) all.push_back(std::move(formula));
    for (Formula& formula : transformer_xl_gradient_formulas()) all.push_back(std::move(formula));
    all.push_back({"/lm.logits", {}, lm_logits});
    all.push_back({"/lm.loss", {"/lm.logits"}, [](const Replay& at) { return losses_of(at, at("/lm.logits")); }});
    return all;
}

}  // namespace locus::conformance
