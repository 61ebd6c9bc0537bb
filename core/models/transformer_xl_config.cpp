#include "core/models/transformer_xl_config.h"

#include <algorithm>

#include "core/models/config_fields.h"

namespace locus {

TransformerXlConfig parse_transformer_xl_config(const std::string& json, const std::string& location) {
    const ConfigFields fields(json, location);
    TransformerXlConfig config;
    config.vocab_size = fields.number("vocab_size", 1, 0);
    config.d_model = fields.number("d_model", 1, 0);
    config.d_embed = fields.number("d_embed", 1, config.d_model);
    config.n_head = fields.number("n_head", 1, 0);
    config.d_head = fields.number("d_head", 1, 0);
    config.d_inner = fields.number("d_inner", 1, 0);
    config.n_layer = fields.number("n_layer", 1, 0);
    config.mem_len = fields.number("mem_len", 0, 0);
    config.ext_len = fields.number("ext_len", 0, 0);
    config.clamp_len = std::max<Index>(0, fields.number("clamp_len", -1, -1));
    config.same_length = fields.flag("same_length", false);
    config.pre_lnorm = fields.flag("pre_lnorm", false);
    config.untie_r = fields.flag("untie_r", false);
    config.tied_output = fields.flag("tie_weight", true) && fields.flag("tie_word_embeddings", true);
    config.hierarchical = fields.list_length("cutoffs") > 0;
    config.layer_norm_eps = fields.positive("layer_norm_epsilon", 1e-5);
    if (config.d_model % 2 != 0)
        fields.throw_unreadable("d_model", "an even number: sinusoids come in pairs", Fault::unreadable);
    if (fields.number("attn_type", 0, 0) != 0)
        fields.throw_unreadable("attn_type", "0, relative attention with fixed sinusoids", Fault::unsupported);
    if (fields.number("div_val", 1, 1) != 1)
        fields.throw_unreadable("div_val", "1: tables of different widths are not read", Fault::unsupported);
    return config;
}

}  // namespace locus
