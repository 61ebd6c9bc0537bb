#pragma once
// The switches of a Transformer-XL checkpoint.  transformers configuration_transfo_xl.py; transformer-xl train.py.
#include <string>

#include "core/tensor.h"

namespace locus {

struct TransformerXlConfig {
    Index vocab_size = 0;  // V
    Index d_model = 0;     // D
    Index d_embed = 0;     // E
    Index n_head = 0;      // H
    Index d_head = 0;      // d; H * d need not be D
    Index d_inner = 0;     // F
    Index n_layer = 0;
    Index mem_len = 0;    // rows handed on; 0: no memory
    Index ext_len = 0;    // the newest rows of a segment that are not handed on
    Index clamp_len = 0;  // 0: distances are not clamped
    bool same_length = false;
    bool pre_lnorm = false;
    bool untie_r = false;       // u and v per layer
    bool tied_output = true;    // the word table is the output matrix
    bool hierarchical = false;  // cutoffs without div_val: one input table, but an adaptive softmax behind it
    double layer_norm_eps = 1e-5;
};

/// Throws Error(unreadable) for missing or impossible fields and Error(unsupported) for attn_type other than 0 and for
/// tables whose widths differ (div_val above 1); each sentence names the file and the field.
TransformerXlConfig parse_transformer_xl_config(const std::string& json, const std::string& location);

}  // namespace locus
