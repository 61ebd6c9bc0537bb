#include "core/models/roformer_config.h"

#include "core/models/config_fields.h"

namespace locus {

RoformerConfig parse_roformer_config(const std::string& json, const std::string& location) {
    const ConfigFields fields(json, location);
    RoformerConfig config;
    config.vocab_size = fields.number("vocab_size", 1, 0);
    config.hidden_size = fields.number("hidden_size", 1, 0);
    config.embedding_size = fields.number("embedding_size", 1, config.hidden_size);
    config.num_hidden_layers = fields.number("num_hidden_layers", 1, 0);
    config.num_attention_heads = fields.number("num_attention_heads", 1, 0);
    config.intermediate_size = fields.number("intermediate_size", 1, 0);
    config.max_position_embeddings = fields.number("max_position_embeddings", 1, 1536);
    config.type_vocab_size = fields.number("type_vocab_size", 0, 2);
    config.rotary_value = fields.flag("rotary_value", false);
    config.hidden_act = fields.activation("hidden_act", "gelu");
    config.layer_norm_eps = fields.positive("layer_norm_eps", 1e-12);
    if (config.hidden_size % config.num_attention_heads != 0)
        fields.throw_unreadable("hidden_size",
                                "a multiple of num_attention_heads = " + std::to_string(config.num_attention_heads),
                                Fault::unreadable);
    if (config.head_width() % 2 != 0)
        fields.throw_unreadable("hidden_size",
                                "an even width per head (" + std::to_string(config.num_attention_heads) +
                                    " heads): rotation turns channels in pairs",
                                Fault::unreadable);
    return config;
}

}  // namespace locus
