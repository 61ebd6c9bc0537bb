#include "core/models/xlnet_config.h"

#include <algorithm>

#include "core/models/config_fields.h"

namespace locus {

XlnetConfig parse_xlnet_config(const std::string& json, const std::string& location) {
    const ConfigFields fields(json, location);
    XlnetConfig config;
    config.vocab_size = fields.number("vocab_size", 1, 0);
    config.d_model = fields.number("d_model", 1, 0);
    config.n_head = fields.number("n_head", 1, 0);
    if (!fields.has("d_head") && config.d_model % config.n_head != 0)
        fields.throw_unreadable("d_model", "a multiple of n_head = " + std::to_string(config.n_head),
                                Fault::unreadable);
    config.d_head = fields.number("d_head", 1, config.d_model / config.n_head);
    config.d_inner = fields.number("d_inner", 1, 0);
    config.n_layer = fields.number("n_layer", 1, 0);
    config.mem_len = fields.number("mem_len", 0, 0);
    config.reuse_len = fields.number("reuse_len", 0, 0);
    config.clamp_len = std::max<Index>(0, fields.number("clamp_len", -1, -1));
    const std::string attention = fields.text("attn_type", "bi");
    if (attention != "bi" && attention != "uni")
        fields.throw_unreadable("attn_type", "\"bi\" or \"uni\"", Fault::unreadable);
    config.direction = attention == "uni" ? Direction::unidirectional : Direction::bidirectional;
    config.bi_data = fields.flag("bi_data", false);
    config.same_length = fields.flag("same_length", false);
    config.ff_activation = fields.activation("ff_activation", "gelu");
    config.tied_output = fields.flag("tie_word_embeddings", true);
    config.layer_norm_eps = fields.positive("layer_norm_eps", 1e-12);
    if (config.d_model % 2 != 0)
        fields.throw_unreadable("d_model", "an even number: sinusoids come in pairs", Fault::unreadable);
    return config;
}

}  // namespace locus
