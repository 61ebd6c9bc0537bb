#pragma once
// XLNet for inference: a content stream that sees its own token, and a query stream that must predict it.
// Yang et al. 2019; transformers modeling_xlnet.py; zihangdai/xlnet modeling.py; spec 8.
#include "core/models/block.h"
#include "core/models/model.h"
#include "core/models/weight_reader.h"
#include "core/models/xlnet_config.h"

namespace locus {

/// What a dialect decides here.
struct XlnetOptions {
    /// The code subtracts 1e30 from hidden scores, so a query that sees nothing weighs all keys alike, the one it must
    /// predict among them (spec 8.3).  Zero unless a dialect asks for that.
    MaskedRow masked_row = MaskedRow::zero;
    bool tanh_gelu = false;         // "gelu" is the tanh form in the original code, the exact one in transformers
    bool keeps_everything = false;  // mem_len 0 hands on all rows (hf) instead of none
    static XlnetOptions of(Dialect dialect);
};

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
    Trace forward(const std::vector<ModelInput>& segments, Dialect dialect,
                  const StageFilter& wanted = {}) const override;
    std::vector<std::string> warnings() const override { return weights_.warnings(); }

    const XlnetConfig& config() const { return config_; }
    bool has_head() const;

    /// One segment, as TransformerXl::run_segment: at most `layers` layers, stages with the prefix, memory in and out.
    std::vector<Tensor<Scalar>> run_segment(const ModelInput& input, const std::vector<Tensor<Scalar>>& memory,
                                            const XlnetOptions& options, Index layers, const std::string& prefix,
                                            Trace& trace) const;

    /// Weights of one layer, read on first use: u, v and s explain the scores.
    const XlnetLayer<Scalar>& layer(Index l) const;

private:
    struct Pass;
    Pass prepare(const ModelInput& input, Index memory, const XlnetOptions& options) const;
    XlnetStreams<Scalar> run_layer(Index l, const XlnetStreams<Scalar>& x, const Tensor<Scalar>& memory,
                                   const Pass& pass, const std::string& prefix, Trace& trace) const;
    void head(const ModelInput& input, const Pass& pass, const XlnetStreams<Scalar>& x, const std::string& prefix,
              Trace& trace) const;

    XlnetConfig config_;
    WeightReader<Scalar> weights_;
    const Operations<Scalar>& compute_;
    LazyLayers<XlnetLayer<Scalar>> layers_;
};

extern template class Xlnet<float>;
extern template class Xlnet<double>;

}  // namespace locus
