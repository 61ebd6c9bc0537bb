#pragma once
// Transformer-XL for inference: segment after segment, each attending to the memory of the ones before.
// Dai et al. 2019; kimiyoung/transformer-xl mem_transformer.py, train.py.
#include <string>

#include "core/models/block.h"
#include "core/models/model.h"
#include "core/models/relative_heads.h"
#include "core/models/transformer_xl_config.h"
#include "core/models/transformer_xl_words.h"
#include "core/models/weight_reader.h"

namespace locus {

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
    void check(const std::vector<ModelInput>& segments, Dialect dialect, const StageFilter& wanted = {}) const override;
    Trace forward(const std::vector<ModelInput>& segments, Dialect dialect,
                  const StageFilter& wanted = {}) const override;
    std::vector<std::string> warnings() const override { return weights_.warnings(); }

    const TransformerXlConfig& config() const { return config_; }
    /// True if the next word can be predicted: the checkpoint holds the output layer.
    bool has_head() const { return words_.has_output(); }

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
                             Dialect dialect, const std::string& prefix, Trace& trace) const;
    void head(const ModelInput& input, const Tensor<Scalar>& x, Dialect dialect, const std::string& prefix,
              Trace& trace) const;

    TransformerXlConfig config_;
    WeightReader<Scalar> weights_;
    const Operations<Scalar>& compute_;
    TransformerXlWords<Scalar> words_;
    LazyLayers<TransformerXlLayer<Scalar>> layers_;
};

/// Which rows of [memory; segment] the next segment gets: the newest mem_len up to `ext_len` before the end
/// (_update_mems). The official code swaps two arguments there, which shows only with ext_len > 0; Dialect::official
/// does the same.
struct MemoryRows {
    Index begin = 0, end = 0;
};
MemoryRows rows_to_keep(const TransformerXlConfig& config, Index memory, Index queries, Dialect dialect);

/// How many rows of 0 a first segment remembers that is given no memory: none, as in kimiyoung's PyTorch code.  Its
/// TensorFlow code and transformers (Dialect::hf) begin with mem_len of them, which every query sees and the softmax
/// counts.
Index rows_before_first(const TransformerXlConfig& config, Dialect dialect);

extern template class TransformerXl<float>;
extern template class TransformerXl<double>;

}  // namespace locus
