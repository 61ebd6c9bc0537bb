#pragma once
// The switches of a RoFormer checkpoint.  transformers configuration_roformer.py.
#include <string>

#include "core/models/activation.h"
#include "core/tensor.h"

namespace locus {

struct RoformerConfig {
    Index vocab_size = 0;      // V
    Index hidden_size = 0;     // D
    Index embedding_size = 0;  // E, D unless factorised
    Index num_hidden_layers = 0;
    Index num_attention_heads = 0;  // H
    Index intermediate_size = 0;    // F
    Index max_position_embeddings = 0;
    Index type_vocab_size = 0;
    bool rotary_value = false;  // values are turned too
    Activation hidden_act = Activation::gelu;
    double layer_norm_eps = 1e-12;

    Index head_width() const { return hidden_size / num_attention_heads; }  // d
};

/// Throws Error(unreadable) for missing or impossible fields, among them an odd head width; each sentence names the
/// file and the field.
RoformerConfig parse_roformer_config(const std::string& json, const std::string& location);

}  // namespace locus
