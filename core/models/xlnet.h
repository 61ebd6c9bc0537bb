#pragma once
// XLNet for inference: a content stream that sees its own token, and a query stream that must predict it.
// Yang et al. 2019; transformers modeling_xlnet.py, configuration_xlnet.py; zihangdai/xlnet modeling.py, xlnet.py.
//
// xlnet.cpp has the pass and its layer; xlnet_input.cpp turns configuration and input into masks and positions.
#include <string>
#include <vector>

#include "core/attention/two_stream.h"
#include "core/models/block.h"
#include "core/models/classifier_head.h"
#include "core/models/model.h"
#include "core/models/relative_heads.h"
#include "core/models/weight_reader.h"
#include "core/positions/position_rows.h"

namespace locus {

/// The switches of a checkpoint.
struct XlnetConfig {
    Index vocab_size = 0;  // V
    Index d_model = 0;     // D
    Index n_head = 0;      // H
    Index d_head = 0;      // d
    Index d_inner = 0;     // F
    Index n_layer = 0;
    Index mem_len = 0;                               // rows that a segment gives to the next; 0: none
    Index reuse_len = 0;                             // only this many of a segment's first rows are among them; 0: all
    Index clamp_len = 0;                             // 0: distances are not clamped
    Direction direction = Direction::bidirectional;  // attn_type "bi" or "uni"
    bool bi_data = false;                            // the second half of the batch is reversed text
    bool same_length = false;
    Activation ff_activation = Activation::gelu;
    bool tied_output = true;
    double layer_norm_eps = 1e-12;
    // Of a fine-tuned classifier, where there is one.
    std::string summary_type = "last", summary_activation = "tanh";
    bool summary_use_proj = true;
    // A sentence for each field that config.json leaves out and of which transformers would take another value.
    std::vector<std::string> notes;
};

/// Throws Error(unreadable) for missing or impossible fields; each sentence names the file and the field.
XlnetConfig parse_xlnet_config(const std::string& json, const std::string& location);

/// What a dialect decides here.
struct XlnetOptions {
    /// The code subtracts 1e30 from hidden scores, so a query that sees nothing weighs all keys alike, the one it must
    /// predict among them (modeling.py rel_attn_core).  Zero unless a dialect asks for that.
    MaskedRow masked_row = MaskedRow::zero;
    bool tanh_gelu = false;         // "gelu" is the tanh form in the original code, the exact one in transformers
    bool keeps_everything = false;  // mem_len 0 gives all rows to the next segment (hf) instead of none
    static XlnetOptions of(Dialect dialect);
};

/// One layer's weights.
template <class Scalar>
struct XlnetLayer {
    Dense<Scalar> query, key, value;                           // [H*d, D], no bias
    Matrix<Scalar> position;                                   // W_{k,R} [H*d, D]
    Matrix<Scalar> content_bias, position_bias, segment_bias;  // r_w_bias, r_r_bias, r_s_bias [H,d]
    Tensor<Scalar> segments;  // seg_embed, heads first: [H,2,d]; row 0 same segment, row 1 another
    Block<Scalar> block;
};

/// Both streams of one pass; g is empty without targets.
template <class Scalar>
struct XlnetStreams {
    Tensor<Scalar> h, g;  // [B,T,D], [B,P,D]
};

/// Who is seen by one stream: its queries' tokens, and the keys of each.
struct XlnetView {
    std::vector<std::vector<Index>> positions;  // per sample: token of each query, -1: not used
    std::vector<Mask> masks;                    // per sample, [queries,K], 1 = visible
};

/// What stays the same from the first layer of one segment to the last.
template <class Scalar>
struct XlnetContext {
    XlnetOptions options;
    Index memory = 0;                              // M
    Matrix<Scalar> r, r_backward;                  // [R,D]; the second for reversed text, else empty
    XlnetView content, query;                      // of h: all T tokens; of g: the P targets, or nothing
    std::vector<std::vector<std::int64_t>> types;  // per sample, [T]; empty: no segment term

    Index samples() const { return static_cast<Index>(content.masks.size()); }
    /// With bi_data the second half of the batch is read backwards.
    bool is_reversed(Index b) const { return r_backward.size() > 0 && b >= samples() / 2; }
    bool has_targets() const { return !query.positions.empty(); }
};

template <class Scalar>
class Xlnet : public Model<Scalar> {
public:
    Xlnet(const XlnetConfig& config, std::shared_ptr<const WeightSource> weights,
          const Operations<Scalar>& compute = cpu_operations<Scalar>());

    Family family() const override { return Family::xlnet; }
    ModelSizes sizes() const override;
    std::vector<std::string> input_names() const override {
        return {"tokens", "mask", "token_types", "labels", "perm_mask", "target_mapping", "input_mask", "memory"};
    }
    std::vector<std::string> stage_names(const std::vector<ModelInput>& segments, Dialect dialect) const override;
    void check(const std::vector<ModelInput>& segments, Dialect dialect, const StageFilter& wanted = {}) const override;
    Trace forward(const std::vector<ModelInput>& segments, Dialect dialect,
                  const StageFilter& wanted = {}) const override;
    std::vector<std::string> warnings() const override { return weights_.warnings(); }

    const XlnetConfig& config() const { return config_; }
    bool has_head() const;

    /// One segment, as TransformerXl::run_segment: until the trace is complete, stages with the prefix, memory in and
    /// out.
    SegmentMemory<Scalar> run_segment(const ModelInput& input, const SegmentMemory<Scalar>& memory,
                                      const XlnetOptions& options, const std::string& prefix, Trace& trace) const;

    /// Weights of one layer, read on first use: u, v and s explain the scores.
    const XlnetLayer<Scalar>& layer(Index l) const;

private:
    XlnetContext<Scalar> prepare(const ModelInput& input, Index memory, const XlnetOptions& options) const;
    XlnetStreams<Scalar> embeddings(const ModelInput& input, const XlnetContext<Scalar>& pass,
                                    const std::string& prefix, Trace& trace) const;
    XlnetStreams<Scalar> run_layer(Index l, const XlnetStreams<Scalar>& x, const Tensor<Scalar>& memory,
                                   const XlnetContext<Scalar>& pass, const std::string& prefix, Trace& trace) const;
    Tensor<Scalar> next_memory(const Tensor<Scalar>& before, const Tensor<Scalar>& h) const;
    void head(const ModelInput& input, const XlnetContext<Scalar>& pass, const XlnetStreams<Scalar>& x,
              const std::string& prefix, Trace& trace) const;

    XlnetConfig config_;
    WeightReader<Scalar> weights_;
    const Operations<Scalar>& compute_;
    LazyLayers<XlnetLayer<Scalar>> layers_;
    std::optional<ClassifierHead<Scalar>> classifier_;
};

/// Throws Error(usage) where masks, targets, types or labels do not fit the tokens and each other.
void check_xlnet_input(const ModelInput& input, const XlnetConfig& config);

/// [T,T] of one sample, 1 = hidden; empty without perm_mask.
Mask permutation_of(const ModelInput& input, Index b);
/// 1 = padding, from input_mask or from mask (which says the opposite); empty where nothing is padded.
std::vector<bool> padding_of(const ModelInput& input, Index b);

extern template class Xlnet<float>;
extern template class Xlnet<double>;

}  // namespace locus
