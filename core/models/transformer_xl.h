#pragma once
// Transformer-XL for inference: segment after segment, each attending to the memory of the ones before.
// Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py, train.py; transformers configuration_transfo_xl.py.
#include <string>

#include "core/models/block.h"
#include "core/models/model.h"
#include "core/models/relative_heads.h"
#include "core/models/weight_reader.h"

namespace locus {

/// The switches of a checkpoint.
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
    bool tied_output = true;  // the word table is the output matrix
    bool hierarchical =
        false;  // cutoffs without div_val: one input table, but an adaptive softmax after the last layer
    double layer_norm_eps = 1e-5;
};

/// Throws Error(unreadable) for missing or impossible fields and Error(unsupported) for attn_type other than 0 and for
/// tables whose widths differ (div_val above 1); each sentence names the file and the field.
TransformerXlConfig parse_transformer_xl_config(const std::string& json, const std::string& location);

/// One layer's weights.
template <class Scalar>
struct TransformerXlLayer {
    Dense<Scalar> query, key, value;             // [H*d, D], no bias
    Matrix<Scalar> position;                     // W_{k,R} [H*d, D]
    Matrix<Scalar> content_bias, position_bias;  // u, v [H,d]; the same in every layer unless untied
    Block<Scalar> block;
};

template <class Scalar>
class TransformerXl : public Model<Scalar> {
public:
    TransformerXl(const TransformerXlConfig& config, std::shared_ptr<const WeightSource> weights,
                  const Operations<Scalar>& compute = cpu_operations<Scalar>());

    Family family() const override { return Family::transformer_xl; }
    ModelSizes sizes() const override;
    std::vector<std::string> input_names() const override { return {"tokens", "labels", "memory"}; }
    std::vector<std::string> stage_names(const std::vector<ModelInput>& segments, Dialect dialect) const override;
    Trace forward(const std::vector<ModelInput>& segments, Dialect dialect,
                  const StageFilter& wanted = {}) const override;
    std::vector<std::string> warnings() const override;

    const TransformerXlConfig& config() const { return config_; }
    /// True if the next word can be predicted; false where an adaptive softmax follows, which is not computed.
    bool has_head() const { return !config_.hierarchical; }

    /// One segment, until the trace is complete; its stages get the prefix.  Throws as `forward`.
    /// memory: what the segment before returned, or empty -> what the next one is given, [B,M',D] per layer and for the
    /// last output; empty where mem_len is 0 or the trace was complete before the last layer.
    SegmentMemory<Scalar> run_segment(const ModelInput& input, const SegmentMemory<Scalar>& memory, Dialect dialect,
                                      const std::string& prefix, Trace& trace) const;

    /// Weights of one layer, read on first use: u, v and s explain the scores.
    const TransformerXlLayer<Scalar>& layer(Index l) const;

private:
    Tensor<Scalar> embeddings(const ModelInput& input, const std::string& prefix, Trace& trace) const;
    Tensor<Scalar> run_layer(Index l, const Tensor<Scalar>& x, const Tensor<Scalar>& memory, const Matrix<Scalar>& r,
                             const std::string& prefix, Trace& trace) const;
    void head(const ModelInput& input, const Tensor<Scalar>& x, const std::string& prefix, Trace& trace) const;

    TransformerXlConfig config_;
    WeightReader<Scalar> weights_;
    const Operations<Scalar>& compute_;
    LazyLayers<TransformerXlLayer<Scalar>> layers_;
};

/// Which rows of [memory; segment] the next segment gets: the newest mem_len up to `ext_len` before the end
/// (_update_mems). The official code swaps two arguments there, which shows only with ext_len > 0; Dialect::official
/// does the same.
struct MemoryRows {
    Index begin = 0, end = 0;
};
MemoryRows rows_to_keep(const TransformerXlConfig& config, Index memory, Index queries, Dialect dialect);

extern template class TransformerXl<float>;
extern template class TransformerXl<double>;

}  // namespace locus
