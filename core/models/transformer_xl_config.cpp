#include "core/models/transformer_xl_config.h"

#include <algorithm>
#include <functional>

#include "core/models/config_fields.h"

namespace locus {

Index TransformerXlConfig::cluster_width(Index n) const {
    Index width = d_embed;
    for (Index step = 0; step < n && width > 0 && div_val > 1; ++step) width /= div_val;
    return width;
}

namespace {

void read_clusters(const ConfigFields& fields, TransformerXlConfig& config) {
    // Ends of clusters rise, and the last cluster holds at least the last word.
    config.cutoffs = fields.numbers("cutoffs", 1, config.vocab_size - 1);
    if (std::adjacent_find(config.cutoffs.begin(), config.cutoffs.end(), std::greater_equal<>()) !=
        config.cutoffs.end())
        fields.throw_unreadable("cutoffs", "numbers that rise");

    // d_embed // div_val ** n, as the code of all releases has it.
    config.div_val = fields.number("div_val", 1, 1);
    const Index last = config.clusters() - 1;
    if (config.cluster_width(last) == 0)
        fields.throw_unreadable("div_val", "one that leaves the vectors of cluster " + std::to_string(last) +
                                               " a channel: d_embed is " + std::to_string(config.d_embed));

    // tie_projs says it for every cluster, null and an empty list of none; without it all but the first are tied.
    config.tied_projections = fields.flags("tie_projs");
    if (!fields.has("tie_projs") && !fields.is_null("tie_projs")) {
        const bool tied = fields.flag("proj_share_all_but_first", true);
        config.tied_projections.assign(static_cast<std::size_t>(config.clusters()), tied);
        config.tied_projections.front() = false;
    }
    if (std::ssize(config.tied_projections) > config.clusters())
        fields.throw_unreadable("tie_projs",
                                "at most " + std::to_string(config.clusters()) + ", one for each cluster of words");
    config.tied_projections.resize(static_cast<std::size_t>(config.clusters()), false);
}

}  // namespace

TransformerXlConfig parse_transformer_xl_config(const std::string& json, const std::string& location) {
    const ConfigFields fields(json, location);
    TransformerXlConfig config;
    config.vocab_size = fields.number(fields.either("vocab_size", "n_token"), 1, 0);
    config.d_model = fields.number(fields.either("d_model", "hidden_size"), 1, 0);
    config.d_embed = fields.number("d_embed", 1, config.d_model);
    config.n_head = fields.number(fields.either("n_head", "num_attention_heads"), 1, 0);
    config.d_head = fields.number("d_head", 1, 0);
    config.d_inner = fields.number("d_inner", 1, 0);
    config.n_layer = fields.number(fields.either("n_layer", "num_hidden_layers"), 1, 0, ConfigFields::kMostLayers);
    config.mem_len = fields.number("mem_len", 0, 0);
    config.ext_len = fields.number("ext_len", 0, 0);
    config.clamp_len = std::max<Index>(0, fields.number("clamp_len", -1, -1));
    config.same_length = fields.flag("same_length", false);
    config.pre_lnorm = fields.flag("pre_lnorm", false);
    config.untie_r = fields.flag("untie_r", false);
    config.tied_output = fields.flag("tie_weight", true) && fields.flag("tie_word_embeddings", true);
    config.layer_norm_eps = fields.positive("layer_norm_epsilon", 1e-5);
    if (config.d_model % 2 != 0) fields.throw_unreadable("d_model", "an even number: sinusoids come in pairs");
    if (fields.number("attn_type", 0, 0) != 0)
        fields.throw_unreadable("attn_type", "0, relative attention with fixed sinusoids", Fault::unsupported);
    read_clusters(fields, config);

    // Absent is what the authors' train.py has; TransfoXLConfig is the model of WikiText-103.
    fields.note_absent("mem_len", "0", "1600", config.notes);
    fields.note_absent("clamp_len", "-1", "1000", config.notes);
    fields.note_absent("same_length", "false", "true", config.notes);
    fields.note_absent("untie_r", "false", "true", config.notes);
    return config;
}

}  // namespace locus
