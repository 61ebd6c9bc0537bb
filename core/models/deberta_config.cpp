#include "core/models/deberta_config.h"

#include <algorithm>

#include "core/models/config_fields.h"

namespace locus {

namespace {

void read_sizes(const ConfigFields& fields, DebertaConfig& config) {
    config.vocab_size = fields.number("vocab_size", 1, config.version == 1 ? 50265 : 128100);
    config.hidden_size = fields.number("hidden_size", 1, 0);
    config.embedding_size = fields.number("embedding_size", 1, config.hidden_size);
    config.num_hidden_layers = fields.number("num_hidden_layers", 1, 0, ConfigFields::kMostLayers);
    config.num_attention_heads = fields.number("num_attention_heads", 1, 0);
    config.intermediate_size = fields.number("intermediate_size", 1, 0);
    config.max_position_embeddings = fields.number("max_position_embeddings", 1, 512);
    config.type_vocab_size = fields.number("type_vocab_size", 0, 0);
    // As nn.Embedding takes its padding_idx: null is none, and a negative number counts from the end of the table.
    const Index padding = fields.number("pad_token_id", -ConfigFields::kLargestNumber, 0);
    config.pad_token_id = padding < 0 ? padding + config.vocab_size : padding;
    if (fields.is_null("pad_token_id")) config.pad_token_id.reset();
    config.layer_norm_eps = fields.positive("layer_norm_eps", 1e-7);
    if (!fields.has("attention_head_size") && config.hidden_size % config.num_attention_heads != 0)
        fields.throw_unreadable("hidden_size",
                                "a multiple of num_attention_heads = " + std::to_string(config.num_attention_heads),
                                Fault::unreadable);
    config.attention_head_size =
        fields.number("attention_head_size", 1, config.hidden_size / config.num_attention_heads);
    // The output dense of every implementation is D -> D.
    if (config.attention_head_size * config.num_attention_heads != config.hidden_size)
        fields.throw_unreadable("attention_head_size", "hidden_size / num_attention_heads", Fault::unsupported);
}

/// A name that the code which reads such a file does not look for would be passed over there without a word.
std::vector<std::string> known_names(const ConfigFields& fields, const char* field,
                                     const std::vector<std::string>& known, const char* expected) {
    std::vector<std::string> names = fields.names(field);
    for (const std::string& name : names)
        if (std::find(known.begin(), known.end(), name) == known.end())
            fields.throw_unreadable(field, expected, Fault::unsupported);
    return names;
}

/// The relative table has twice as many rows, which Index must count where it has 32 bits too.
constexpr Index kMostBuckets = ConfigFields::kLargestNumber / 2;

void read_positions(const ConfigFields& fields, DebertaConfig& config) {
    config.relative_attention = fields.flag("relative_attention", false);
    config.position_biased_input = fields.flag("position_biased_input", true);
    config.position_buckets = std::max<Index>(0, fields.number("position_buckets", -1, 0, kMostBuckets));
    config.max_relative_positions = fields.number("max_relative_positions", -1, 0);
    if (config.max_relative_positions < 1) config.max_relative_positions = config.max_position_embeddings;
    if (config.version == 1) config.position_buckets = 0;
    if (config.position_buckets % 2 != 0)
        fields.throw_unreadable("position_buckets", "an even number or -1", Fault::unreadable);

    // "none" stands in the files of microsoft/DeBERTa for models without relative attention.
    const std::vector<std::string> names =
        known_names(fields, "pos_att_type", {"c2p", "p2c", "none"}, "c2p, p2c, both or none");
    const auto listed = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    config.lists_terms = fields.has("pos_att_type");
    config.listed_terms = static_cast<Index>(names.size());
    config.named_terms = {listed("c2p"), listed("p2c"), false};
    config.terms = {config.relative_attention && listed("c2p"), config.relative_attention && listed("p2c"), false};

    const std::vector<std::string> norms =
        known_names(fields, "norm_rel_ebd", {"layer_norm", "none"}, "layer_norm or none");
    config.norm_rel_ebd = config.version == 2 && std::find(norms.begin(), norms.end(), "layer_norm") != norms.end();
    config.share_att_key = config.version == 2 && fields.flag("share_att_key", false);
    config.talking_head = config.version == 1 && fields.flag("talking_head", false);
}

}  // namespace

DebertaConfig parse_deberta_config(const std::string& text, const std::string& location) {
    const ConfigFields fields(text, location);
    const std::string type = fields.text("model_type", "");
    DebertaConfig config;
    if (type == "deberta")
        config.version = 1;
    else if (type == "deberta-v2")
        config.version = 2;
    else
        fields.throw_unreadable("model_type", "deberta or deberta-v2", Fault::unsupported);
    read_sizes(fields, config);
    read_positions(fields, config);
    // With "legacy" false, transformers gives the word table to the head at run time, whatever tie_word_embeddings is.
    const bool ties = fields.flag("tie_word_embeddings", true), legacy = fields.flag("legacy", true);
    config.tied_output = ties || !legacy;
    config.hidden_act = fields.activation("hidden_act", "gelu");
    config.pooler_hidden_act = fields.text("pooler_hidden_act", "gelu");
    config.conv_kernel_size = config.version == 2 ? std::max<Index>(0, fields.number("conv_kernel_size", 0, 0)) : 0;
    config.conv_groups = fields.number("conv_groups", 1, 1);
    if (config.conv_kernel_size > 0) config.conv_act = fields.activation("conv_act", "tanh");
    if (config.conv_kernel_size > 0 && config.conv_kernel_size % 2 == 0)
        fields.throw_unreadable("conv_kernel_size", "an odd number", Fault::unsupported);
    if (config.conv_kernel_size > 0 && config.hidden_size % config.conv_groups != 0)
        fields.throw_unreadable("conv_groups", "a divisor of hidden_size", Fault::unreadable);
    return config;
}

}  // namespace locus
