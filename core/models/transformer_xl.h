#pragma once
// Transformer-XL for inference: segment after segment, each looking back into the memory of the ones before.
// Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py; spec 7.
#include "core/models/block.h"
#include "core/models/model.h"
#include "core/models/transformer_xl_config.h"
#include "core/models/weight_reader.h"

namespace locus {

template <class Scalar>
struct TransformerXlLayer {
    Dense<Scalar> query, key, value;             // [H*d, D], no bias
    Matrix<Scalar> position;                     // W_{k,R} [H*d, D]
    Matrix<Scalar> content_bias, position_bias;  // u, v [H,d]; the same in every layer unless untied
    Block<Scalar> block;
};

/// What one segment hands on: rows [B,M,D], for layer l the newest inputs of layer l, and behind them the model's last
/// output, which nothing reads (the official code keeps it too).
template <class Scalar>
using SegmentMemory = std::vector<Tensor<Scalar>>;

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
    /// True if the next word can be told; false behind an adaptive softmax.
    bool has_head() const { return !config_.hierarchical; }

    /// One segment: at most `layers` layers run (the head and a full memory need all).  Stages get the prefix.
    /// memory: what the segment before returned, or empty -> what the next one is given, [B,M',D] per layer;
    /// empty if not all layers ran or mem_len is 0.
    SegmentMemory<Scalar> run_segment(const ModelInput& input, const SegmentMemory<Scalar>& memory, Dialect dialect,
                                      Index layers, const std::string& prefix, Trace& trace) const;

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

/// Which rows of [memory; segment] are handed on: the newest mem_len up to `ext_len` before the end (spec 7.5).
/// The official code swaps two arguments there, which shows only with ext_len > 0; Dialect::official does the same.
struct MemoryRows {
    Index begin = 0, end = 0;
};
MemoryRows rows_to_keep(const TransformerXlConfig& config, Index memory, Index queries, Dialect dialect);

extern template class TransformerXl<float>;
extern template class TransformerXl<double>;

}  // namespace locus
