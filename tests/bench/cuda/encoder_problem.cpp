#include "tests/bench/cuda/encoder_problem.h"

#include <algorithm>
#include <fstream>
#include <thread>

#include "core/io/safetensors.h"
#include "core/models/fast_encoder.h"
#include "core/philox.h"
#include "cuda/fused/half_types.h"

namespace locus::bench {

namespace {

using nlohmann::ordered_json;

ordered_json v3_base_json() {
    return {{"model_type", "deberta-v2"},     {"vocab_size", 128100},         {"hidden_size", 768},
            {"num_hidden_layers", 12},        {"num_attention_heads", 12},    {"intermediate_size", 3072},
            {"hidden_act", "gelu"},           {"hidden_dropout_prob", 0.0},   {"attention_probs_dropout_prob", 0.0},
            {"max_position_embeddings", 512}, {"type_vocab_size", 0},         {"layer_norm_eps", 1e-7},
            {"relative_attention", true},     {"max_relative_positions", -1}, {"position_buckets", 256},
            {"norm_rel_ebd", "layer_norm"},   {"share_att_key", true},        {"pos_att_type", {"p2c", "c2p"}},
            {"position_biased_input", false}};
}

/// Uniform around 0 with the deviation 0.02 that training starts from, weights of a norm around 1; biases too differ
/// from 0, so that none can be forgotten.
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
        const auto key = static_cast<std::uint32_t>(std::distance(shapes_.begin(), shapes_.find(name)));
        const float middle = name.ends_with("LayerNorm.weight") ? 1 : 0;
        for (Index n = 0; n < values.size(); ++n) {
            const auto place = static_cast<std::uint64_t>(first * values.cols() + n);
            const std::uint32_t random =
                philox({static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)}, key).first;
            const float value = middle + 0.0692820f * (static_cast<float>(random >> 8) * 0x1p-24f - 0.5f);
            values.data()[n] = cuda::to_float(cuda::from_float<cuda::Bfloat16>(value));
        }
        return values;
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return rows_f32(name, first, rows).cast<double>();
    }

private:
    std::map<std::string, Shape> shapes_;
};

}  // namespace

EncoderProblem::EncoderProblem(int batch, int tokens, const ordered_json& changes) : config_json_(v3_base_json()) {
    config_json_.update(changes);
    config_ = parse_deberta_config(config_json_.dump(), "the configuration to compare");
    weights_ = std::make_shared<RandomWeights>(config_);
    input_.tokens = IndexTensor({batch, tokens});
    for (Index n = 0; n < input_.tokens.size(); ++n)
        input_.tokens[n] =
            philox({static_cast<std::uint32_t>(n), 0}, 1).first % static_cast<std::uint32_t>(config_.vocab_size);
}

std::map<std::string, std::uint32_t> EncoderProblem::write(const std::filesystem::path& folder) const {
    std::map<std::string, std::uint32_t> sums;
    write_atomic_file(folder / "model.safetensors", [&](const ByteSink& sink) {
        std::vector<TensorHeading> headings;
        for (const std::string& name : weights_->names()) headings.push_back({name, *weights_->shape(name)});
        write_safetensors_header(sink, headings, {});
        for (const TensorHeading& tensor : headings) {
            const Matrix<float> values = weights_->rows_f32(tensor.name, 0, tensor.shape.at(0));
            sink(values.data(), tensor.bytes());
            sums[tensor.name] = crc32(values.data(), tensor.bytes());
        }
    });
    write_atomic_file(folder / "ids", [&](const ByteSink& sink) {
        const auto bytes = static_cast<std::size_t>(input_.tokens.size()) * sizeof(std::int64_t);
        sink(input_.tokens.data(), bytes);
        sums["ids"] = crc32(input_.tokens.data(), bytes);
    });
    return sums;
}

HeadRows<double> EncoderProblem::truth(Index sample) const {
    const Index tokens = input_.tokens.extent(1);
    ModelInput one;
    one.tokens = IndexTensor({1, tokens});
    std::copy_n(input_.tokens.data() + sample * tokens, tokens, one.tokens.data());
    ThreadPool pool(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u)));
    const Tensor<double> rows = FastEncoder<double>(config_, weights_).last_output(one, options(), pool);
    return {{"hidden", {rows.data(), rows.data() + rows.size()}}};
}

HeadRows<float> EncoderProblem::sample_of(const Tensor<float>& rows, Index sample) {
    const auto one = rows.matrix(sample);
    return {{"hidden", {one.data(), one.data() + one.size()}}};
}

}  // namespace locus::bench
