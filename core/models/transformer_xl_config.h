#pragma once
// The switches of a Transformer-XL checkpoint, read from its config.json.
// transformers configuration_transfo_xl.py; kimiyoung/transformer-xl pytorch/mem_transformer.py, train.py.
#include <string>
#include <vector>

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
    Index mem_len = 0;    // rows that a segment gives to the next; 0: no memory
    Index ext_len = 0;    // the newest rows of a segment, which the next does not get
    Index clamp_len = 0;  // 0: distances are not clamped
    bool same_length = false;
    bool pre_lnorm = false;
    bool untie_r = false;     // u and v per layer
    bool tied_output = true;  // the word tables are the output matrices
    double layer_norm_eps = 1e-5;
    // A sentence for each field that config.json leaves out and of which transformers would take another value.
    std::vector<std::string> notes;

    // Words in clusters, the most frequent first: cluster n holds the ids from its begin to before its end.
    std::vector<Index> cutoffs;  // ends of all clusters but the last, rising; empty: one cluster, a plain softmax
    Index div_val = 1;           // vectors of cluster n have E / div_val^n channels; 1: one table for all words
    std::vector<bool> tied_projections;  // per cluster: the output's projection is that of the input

    Index clusters() const { return std::ssize(cutoffs) + 1; }
    Index cluster_begin(Index n) const { return n == 0 ? 0 : cutoffs[static_cast<std::size_t>(n - 1)]; }
    Index cluster_end(Index n) const { return n + 1 < clusters() ? cutoffs[static_cast<std::size_t>(n)] : vocab_size; }
    Index cluster_size(Index n) const { return cluster_end(n) - cluster_begin(n); }
    /// E_n, channels of the vectors of a cluster.
    Index cluster_width(Index n) const;
    /// True where every cluster has a table of its own.
    bool own_tables() const { return div_val > 1; }
    /// True where a word's vector is brought from E_n to D channels, and x from D to E_n.
    bool projected() const { return own_tables() || d_embed != d_model; }
};

/// Throws Error(unreadable) for missing or impossible fields and Error(unsupported) for attn_type other than 0; each
/// sentence names the file and the field.
TransformerXlConfig parse_transformer_xl_config(const std::string& json, const std::string& location);

}  // namespace locus
