#pragma once
// RoFormer for inference: BERT whose queries and keys are rotated by their positions instead of an absolute table.
// Su et al. 2021; transformers modeling_roformer.py, configuration_roformer.py.
#include <string>

#include "core/models/block.h"
#include "core/models/classifier_head.h"
#include "core/models/model.h"
#include "core/models/weight_reader.h"
#include "core/positions/rotary.h"

namespace locus {

/// The switches of a checkpoint.
struct RoformerConfig {
    Index vocab_size = 0;      // V
    Index hidden_size = 0;     // D
    Index embedding_size = 0;  // E, D unless factorised
    Index num_hidden_layers = 0;
    Index num_attention_heads = 0;  // H
    Index intermediate_size = 0;    // F
    Index max_position_embeddings = 0;
    Index type_vocab_size = 0;
    bool rotary_value = false;  // values are rotated too
    bool causal = false;        // is_decoder: no key after the query, as in transformers 4; 5.24 ignores it
    bool tied_output = true;    // false: the masked-word head may have an output matrix of its own
    Activation hidden_act = Activation::gelu;
    double layer_norm_eps = 1e-12;

    Index head_width() const { return hidden_size / num_attention_heads; }  // d
};

/// Throws Error(unreadable) for missing or impossible fields, among them an odd head width; each sentence names the
/// file and the field.
RoformerConfig parse_roformer_config(const std::string& json, const std::string& location);

/// What a dialect decides here: a query that sees no key gets zeros, or (hf) equal weights on all keys.
struct RoformerOptions {
    MaskedRow masked_row = MaskedRow::zero;
    static RoformerOptions of(Dialect dialect);
};

/// One layer's weights.
template <class Scalar>
struct RoformerLayer {
    Dense<Scalar> query, key, value;
    Block<Scalar> block;
};

template <class Scalar>
class Roformer : public Model<Scalar> {
public:
    Roformer(const RoformerConfig& config, std::shared_ptr<const WeightSource> weights,
             const Operations<Scalar>& compute = cpu_operations<Scalar>());

    Family family() const override { return Family::roformer; }
    ModelSizes sizes() const override;
    std::vector<std::string> input_names() const override { return {"tokens", "mask", "token_types", "labels"}; }
    std::vector<std::string> stage_names(const std::vector<ModelInput>& segments, Dialect dialect) const override;
    void check(const std::vector<ModelInput>& segments, Dialect dialect, const StageFilter& wanted = {}) const override;
    Trace forward(const std::vector<ModelInput>& segments, Dialect dialect,
                  const StageFilter& wanted = {}) const override;
    std::vector<std::string> warnings() const override { return weights_.warnings(); }

    const RoformerConfig& config() const { return config_; }
    /// True if there is a masked-word head (cls.predictions.*).
    bool has_head() const;
    /// Angles of the first `length` positions: the checkpoint's own float table where it has one, else computed.
    /// Throws Error(unsupported) for more positions than max_position_embeddings.
    RotaryTable<Scalar> angles(Index length) const;
    /// Warns where a table of the checkpoint is not the one that transformers computes for it.
    void note_other_angles(const RotaryTable<Scalar>& held) const;

private:
    /// What stays the same from the first layer to the last.
    struct Context {
        RotaryTable<Scalar> angles;
        std::vector<Mask> masks;
        RoformerOptions options;
    };
    void check_length(Index length) const;
    const RoformerLayer<Scalar>& layer(Index l) const;
    Tensor<Scalar> embeddings(const ModelInput& input, Trace& trace) const;
    Tensor<Scalar> run_layer(Index l, const Tensor<Scalar>& x, const Context& pass, Trace& trace) const;
    void head(const ModelInput& input, const Tensor<Scalar>& x, Trace& trace) const;

    RoformerConfig config_;
    WeightReader<Scalar> weights_;
    const Operations<Scalar>& compute_;
    LazyLayers<RoformerLayer<Scalar>> layers_;
    std::optional<ClassifierHead<Scalar>> classifier_;
};

extern template class Roformer<float>;
extern template class Roformer<double>;

}  // namespace locus
