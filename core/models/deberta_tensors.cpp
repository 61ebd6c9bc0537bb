// Which tensors a DeBERTa checkpoint must hold, and in which shapes.
#include "core/models/deberta_weights.h"

namespace locus {

namespace {

using Expected = std::vector<std::pair<std::string, Shape>>;

void add_dense(Expected& expected, const std::string& name, Index out, Index in) {
    expected.push_back({name + ".weight", {out, in}});
    expected.push_back({name + ".bias", {out}});
}

void add_norm(Expected& expected, const std::string& name, Index width) {
    expected.push_back({name + ".weight", {width}});
    expected.push_back({name + ".bias", {width}});
}

void add_attention(Expected& expected, const DebertaConfig& config, const std::string& self) {
    const Index width = config.hidden_size, heads = config.num_attention_heads;
    if (config.version == 1) {
        expected.push_back({self + "in_proj.weight", {3 * width, width}});
        expected.push_back({self + "q_bias", {width}});
        expected.push_back({self + "v_bias", {width}});
        if (config.terms.c2p) expected.push_back({self + "pos_proj.weight", {width, width}});
        if (config.terms.p2c) add_dense(expected, self + "pos_q_proj", width, width);
        if (config.talking_head) {
            expected.push_back({self + "head_logits_proj.weight", {heads, heads}});
            expected.push_back({self + "head_weights_proj.weight", {heads, heads}});
        }
        return;
    }
    for (const char* part : {"query_proj", "key_proj", "value_proj"}) add_dense(expected, self + part, width, width);
    if (config.share_att_key) return;
    if (config.terms.c2p) add_dense(expected, self + "pos_key_proj", width, width);
    if (config.terms.p2c) add_dense(expected, self + "pos_query_proj", width, width);
}

}  // namespace

std::string layer_prefix(Index layer) { return "encoder.layer." + std::to_string(layer) + "."; }

std::vector<std::pair<std::string, Shape>> expected_deberta_tensors(const DebertaConfig& config) {
    const Index width = config.hidden_size;
    Expected expected;
    expected.push_back({"embeddings.word_embeddings.weight", {config.vocab_size, config.embedding_size}});
    if (config.type_vocab_size > 0)
        expected.push_back(
            {"embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size}});
    if (config.position_biased_input)
        expected.push_back(
            {"embeddings.position_embeddings.weight", {config.max_position_embeddings, config.embedding_size}});
    if (config.embedding_size != width)
        expected.push_back({"embeddings.embed_proj.weight", {width, config.embedding_size}});
    add_norm(expected, "embeddings.LayerNorm", width);
    if (config.relative_attention) {
        expected.push_back({"encoder.rel_embeddings.weight", {2 * config.span(), width}});
        if (config.norm_rel_ebd) add_norm(expected, "encoder.LayerNorm", width);
    }
    if (config.conv_kernel_size > 0) {
        expected.push_back({"encoder.conv.conv.weight", {width, width / config.conv_groups, config.conv_kernel_size}});
        expected.push_back({"encoder.conv.conv.bias", {width}});
        add_norm(expected, "encoder.conv.LayerNorm", width);
    }
    for (Index layer = 0; layer < config.num_hidden_layers; ++layer) {
        const std::string prefix = layer_prefix(layer);
        add_attention(expected, config, prefix + "attention.self.");
        add_dense(expected, prefix + "attention.output.dense", width, width);
        add_norm(expected, prefix + "attention.output.LayerNorm", width);
        add_dense(expected, prefix + "intermediate.dense", config.intermediate_size, width);
        add_dense(expected, prefix + "output.dense", width, config.intermediate_size);
        add_norm(expected, prefix + "output.LayerNorm", width);
    }
    return expected;
}

}  // namespace locus
