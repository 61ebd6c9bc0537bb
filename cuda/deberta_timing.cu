#include "cuda/deberta_timing.h"

#include <map>

#include "core/models/deberta_weights.h"
#include "core/philox.h"

namespace locus::cuda {

namespace {

/// Parameters of the sizes that training starts from: uniform around 0 with a deviation of 0.02, norms as they are
/// before training.
class RandomWeights final : public WeightSource {
public:
    explicit RandomWeights(const DebertaConfig& config) {
        for (const auto& [name, shape] : expected_deberta_tensors(config)) shapes_[name] = shape;
    }
    std::optional<Shape> shape(const std::string& name) const override {
        const auto found = shapes_.find(name);
        return found == shapes_.end() ? std::nullopt : std::optional(found->second);
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> all;
        for (const auto& [name, shape] : shapes_) all.push_back(name);
        return all;
    }
    std::string location() const override { return "random weights"; }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        const Shape& shape = shapes_.at(name);
        Matrix<float> values(rows, element_count(shape) / shape.at(0));
        if (name.ends_with("LayerNorm.weight")) return values.setOnes();
        if (name.ends_with("bias")) return values.setZero();
        const auto key = static_cast<std::uint32_t>(std::distance(shapes_.begin(), shapes_.find(name)));
        for (Index n = 0; n < values.size(); ++n) {
            const auto place = static_cast<std::uint64_t>(first * values.cols() + n);
            const std::uint32_t random =
                philox({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)}, key).first;
            values.data()[n] = 0.0692820f * (static_cast<float>(random >> 8) * 0x1p-24f - 0.5f);
        }
        return values;
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return rows_f32(name, first, rows).cast<double>();
    }

private:
    std::map<std::string, Shape> shapes_;
};

template <class Scalar>
TimedEncoder time_in(const DebertaConfig& config, const ModelInput& input, ProductsBy by, int rounds) {
    DebertaBlocks<Scalar> encoder(config, std::make_shared<RandomWeights>(config), by);
    const DebertaOptions options;
    return {encoder.products(), encoder.time(input, options, SampleRows::padded, false, rounds),
            encoder.time(input, options, SampleRows::padded, true, rounds)};
}

}  // namespace

DebertaConfig v3_base_config() {
    DebertaConfig config;
    config.vocab_size = 128100;
    config.hidden_size = config.embedding_size = 768;
    config.num_hidden_layers = config.num_attention_heads = 12;
    config.attention_head_size = 64;
    config.intermediate_size = 3072;
    config.position_buckets = 256;
    config.max_position_embeddings = config.max_relative_positions = 512;
    config.position_biased_input = false;
    config.share_att_key = config.norm_rel_ebd = true;
    config.terms = {true, true, false};
    return config;
}

TimedEncoder time_encoder(const DebertaConfig& config, int batch, int tokens, FusedPrecision precision, ProductsBy by,
                          int rounds) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(batch) * static_cast<std::size_t>(tokens));
    for (std::size_t n = 0; n < ids.size(); ++n)
        ids[n] = philox({static_cast<std::uint32_t>(n), 0}, 1).first % static_cast<std::uint32_t>(config.vocab_size);
    ModelInput input;
    input.tokens = IndexTensor({batch, tokens}, std::move(ids));
    switch (precision) {
        case FusedPrecision::f16:
            return time_in<Half>(config, input, by, rounds);
        case FusedPrecision::bf16:
            return time_in<Bfloat16>(config, input, by, rounds);
        default:
            return time_in<float>(config, input, by, rounds);
    }
}

}  // namespace locus::cuda
