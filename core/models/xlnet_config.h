#pragma once
// The switches of an XLNet checkpoint.  transformers configuration_xlnet.py; zihangdai/xlnet xlnet.py.
#include <string>

#include "core/models/activation.h"
#include "core/positions/position_rows.h"
#include "core/tensor.h"

namespace locus {

struct XlnetConfig {
    Index vocab_size = 0;  // V
    Index d_model = 0;     // D
    Index n_head = 0;      // H
    Index d_head = 0;      // d
    Index d_inner = 0;     // F
    Index n_layer = 0;
    Index mem_len = 0;                               // rows handed on; 0: none
    Index reuse_len = 0;                             // only this many of a segment's first rows are handed on; 0: all
    Index clamp_len = 0;                             // 0: distances are not clamped
    Direction direction = Direction::bidirectional;  // attn_type "bi" or "uni"
    bool bi_data = false;                            // the second half of the batch is reversed text
    bool same_length = false;
    Activation ff_activation = Activation::gelu;
    bool tied_output = true;
    double layer_norm_eps = 1e-12;
};

/// Throws Error(unreadable) for missing or impossible fields; each sentence names the file and the field.
XlnetConfig parse_xlnet_config(const std::string& json, const std::string& location);

}  // namespace locus
