#pragma once
// A whole encoder as ours and every peer are given it: configuration, weights, token ids, and the truth about one
// sample in float64.
#include <memory>
#include <nlohmann/json.hpp>

#include "core/models/deberta.h"
#include "tests/bench/cuda/against_problem.h"

namespace locus::bench {

class EncoderProblem {
public:
    /// Of microsoft/deberta-v3-base's shape; `changes` to its config.json make it a smaller one.
    /// Random weights, in numbers that bfloat16 has exactly; all tokens are visible.
    EncoderProblem(int batch, int tokens, const nlohmann::ordered_json& changes = nlohmann::ordered_json::object());

    const nlohmann::ordered_json& config_json() const { return config_json_; }
    const DebertaConfig& config() const { return config_; }
    const std::shared_ptr<const WeightSource>& weights() const { return weights_; }
    const ModelInput& input() const { return input_; }
    static DebertaOptions options() { return DebertaOptions::of(Dialect::hf); }

    /// model.safetensors in float32 and "ids", raw 64-bit; CRC-32 of every tensor and of the ids.
    std::map<std::string, std::uint32_t> write(const std::filesystem::path& folder) const;

    /// Its last hidden rows {"hidden": [T,D]}, by the processor in float64.
    HeadRows<double> truth(Index sample) const;
    /// The same sample out of rows [B,T,D].
    static HeadRows<float> sample_of(const Tensor<float>& rows, Index sample);

private:
    nlohmann::ordered_json config_json_;
    DebertaConfig config_;
    std::shared_ptr<const WeightSource> weights_;
    ModelInput input_;
};

}  // namespace locus::bench
