#pragma once
// A small DeBERTa with random weights, in memory: for laws that must hold whatever the weights are.
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/models/deberta.h"
#include "core/models/deberta_weights.h"
#include "core/weights.h"

namespace locus::test {

/// Tensors by name, all values in double.
class MemoryWeights : public WeightSource {
public:
    std::map<std::string, std::pair<Shape, Matrix<double>>> tensors;

    std::optional<Shape> shape(const std::string& name) const override {
        const auto found = tensors.find(name);
        return found == tensors.end() ? std::nullopt : std::optional(found->second.first);
    }
    std::vector<std::string> names() const override {
        std::vector<std::string> all;
        for (const auto& [name, tensor] : tensors) all.push_back(name);
        return all;
    }
    std::string location() const override { return "memory"; }
    Matrix<float> rows_f32(const std::string& name, Index first, Index rows) const override {
        return rows_f64(name, first, rows).cast<float>();
    }
    Matrix<double> rows_f64(const std::string& name, Index first, Index rows) const override {
        return tensors.at(name).second.middleRows(first, rows);
    }

    /// Fills a tensor with normal values; a vector of n is kept as [n, 1], as files have it.
    void randomise(const std::string& name, const Shape& shape, std::mt19937& generator) {
        std::normal_distribution<double> normal(0, 0.5);
        Matrix<double> values(shape.at(0), element_count(shape) / shape.at(0));
        for (Index n = 0; n < values.size(); ++n) values.data()[n] = normal(generator);
        tensors[name] = {shape, values};
    }
};

/// Three classes of a text, for a model of this width.
inline void add_classifier(MemoryWeights& weights, Index width) {
    std::mt19937 generator(8);
    weights.randomise("pooler.dense.weight", {width, width}, generator);
    weights.randomise("pooler.dense.bias", {width}, generator);
    weights.randomise("classifier.weight", {3, width}, generator);
    weights.randomise("classifier.bias", {3}, generator);
}

/// H = 3, d = 4, two layers, clamped offsets: sizes that are all different.
inline DebertaConfig small_config() {
    DebertaConfig config;
    config.vocab_size = 37;
    config.hidden_size = config.embedding_size = 12;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 3;
    config.attention_head_size = 4;
    config.intermediate_size = 20;
    config.max_position_embeddings = 16;
    config.max_relative_positions = 5;
    config.position_biased_input = false;
    config.norm_rel_ebd = true;
    return config;
}

inline std::shared_ptr<MemoryWeights> random_weights(const DebertaConfig& config, unsigned seed) {
    std::mt19937 generator(seed);
    auto weights = std::make_shared<MemoryWeights>();
    for (const auto& [name, shape] : expected_deberta_tensors(config)) weights->randomise(name, shape, generator);
    const Index width = config.hidden_size;
    weights->randomise("embeddings.position_embeddings.weight", {config.max_position_embeddings, width}, generator);
    for (const auto& [name, shape] : std::vector<std::pair<std::string, Shape>>{{"dense.weight", {width, width}},
                                                                                {"dense.bias", {width}},
                                                                                {"LayerNorm.weight", {width}},
                                                                                {"LayerNorm.bias", {width}},
                                                                                {"bias", {config.vocab_size}}})
        weights->randomise("lm_predictions.lm_head." + name, shape, generator);
    return weights;
}

inline ModelInput tokens_input(std::vector<std::int64_t> tokens, std::vector<std::int64_t> mask = {}) {
    ModelInput input;
    const auto length = static_cast<Index>(tokens.size());
    input.tokens = IndexTensor({1, length}, std::move(tokens));
    if (!mask.empty()) input.mask = IndexTensor({1, length}, std::move(mask));
    return input;
}

}  // namespace locus::test
