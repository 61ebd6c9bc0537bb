#pragma once
// The switches of a DeBERTa checkpoint, read from config.json in all spellings that are in use.
#include <optional>
#include <string>
#include <vector>

#include "core/attention/disentangled.h"
#include "core/models/activation.h"
#include "core/tensor.h"

namespace locus {

struct DebertaConfig {
    int version = 2;           // 1: packed in_proj, no norm on the table; 2: versions 2 and 3
    Index vocab_size = 0;      // V
    Index hidden_size = 0;     // D
    Index embedding_size = 0;  // E, D unless factorised
    Index num_hidden_layers = 0;
    Index num_attention_heads = 0;  // H
    Index attention_head_size = 0;  // d
    Index intermediate_size = 0;    // F
    Index max_position_embeddings = 512;
    Index type_vocab_size = 0;
    Index position_buckets = 0;        // 0: offsets are clamped, not bucketed
    Index max_relative_positions = 0;  // resolved: -1 in the file means max_position_embeddings
    bool relative_attention = true;
    bool position_biased_input = true;
    bool share_att_key = false;
    bool norm_rel_ebd = false;
    bool talking_head = false;
    bool tied_output = true;                    // false: the masked-word head may have an output matrix of its own
    Terms terms;                                // from pos_att_type; none without relative_attention
    Terms named_terms = {false, false, false};  // from pos_att_type, whatever relative_attention says
    Index listed_terms = 0;                     // how many names pos_att_type held, duplicates and unknown ones too
    std::optional<Index> pad_token_id = 0;      // its lookups give the word table no gradient; none: all do
    bool lists_terms = true;                    // false: there is no pos_att_type
    Index conv_kernel_size = 0;                 // 0: no convolution
    Index conv_groups = 1;
    Activation conv_act = Activation::tanh;
    Activation hidden_act = Activation::gelu;
    std::string pooler_hidden_act = "gelu";  // of a fine-tuned classifier, where there is one
    double layer_norm_eps = 1e-7;

    /// k: position_buckets if there are buckets, else max_relative_positions.  The relative table has 2k rows.
    Index span() const { return position_buckets > 0 ? position_buckets : max_relative_positions; }
};

/// Reads the text of a config.json.  `location` is the file's name, for messages.
/// Throws Error(unreadable) for malformed JSON, missing or impossible fields, Error(unsupported) for another model_type
/// or an unknown activation; each sentence names the file and the field.
DebertaConfig parse_deberta_config(const std::string& json, const std::string& location);

}  // namespace locus
