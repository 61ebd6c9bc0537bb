#pragma once
// A small original Transformer with random weights: for laws that must hold whatever the weights are.
#include "core/models/older/transformer.h"
#include "tests/naive_reference.h"

namespace locus::test {

/// Sizes that are all different: V = 23, D = 12, H = 3, F = 20, two layers.
inline TransformerConfig small_transformer() { return {23, 12, 3, 20, 2, 1e-5, 64}; }

inline Norm<double> random_norm(Index width, unsigned seed) {
    return {(random_rows(1, width, seed, 0.2).array() + 1).matrix(), random_rows(1, width, seed + 1, 0.1)};
}

inline MultiHeadWeights<double> random_multi_head(Index width, unsigned seed) {
    return {random_dense(width, width, seed), random_dense(width, width, seed + 1),
            random_dense(width, width, seed + 2), random_dense(width, width, seed + 3), random_norm(width, seed + 4)};
}

inline TransformerWeights<double> random_transformer_weights(const TransformerConfig& config, unsigned seed) {
    TransformerWeights<double> weights;
    weights.word_table = random_rows(config.words, config.width, seed, 0.4);
    const auto feed_forward = [&](unsigned at) {
        return FeedForwardWeights<double>{random_dense(config.inner, config.width, at),
                                          random_dense(config.width, config.inner, at + 1),
                                          random_norm(config.width, at + 2)};
    };
    for (Index l = 0; l < config.layers; ++l) {
        const unsigned at = seed + 100 * static_cast<unsigned>(l + 1);
        weights.encoder.push_back({random_multi_head(config.width, at), feed_forward(at + 10)});
        weights.decoder.push_back({random_multi_head(config.width, at + 20), random_multi_head(config.width, at + 30),
                                   feed_forward(at + 40)});
    }
    return weights;
}

inline Transformer<double> random_transformer(unsigned seed) {
    return {small_transformer(), random_transformer_weights(small_transformer(), seed)};
}

inline ModelInput text(std::vector<std::int64_t> tokens, std::vector<std::int64_t> mask = {}, Index batch = 1) {
    ModelInput input;
    const Shape shape = {batch, std::ssize(tokens) / batch};
    input.tokens = IndexTensor(shape, std::move(tokens));
    if (!mask.empty()) input.mask = IndexTensor(shape, std::move(mask));
    return input;
}

inline Norm<float> narrow(const Norm<double>& norm) { return {norm.weight.cast<float>(), norm.bias.cast<float>()}; }
inline Dense<float> narrow(const Dense<double>& layer) {
    return {layer.weight.cast<float>(), layer.bias.cast<float>()};
}
inline MultiHeadWeights<float> narrow(const MultiHeadWeights<double>& w) {
    return {narrow(w.query), narrow(w.key), narrow(w.value), narrow(w.out), narrow(w.norm)};
}
inline FeedForwardWeights<float> narrow(const FeedForwardWeights<double>& w) {
    return {narrow(w.up), narrow(w.down), narrow(w.norm)};
}
inline TransformerWeights<float> narrow(const TransformerWeights<double>& w) {
    TransformerWeights<float> single;
    single.word_table = w.word_table.cast<float>();
    for (const auto& layer : w.encoder) single.encoder.push_back({narrow(layer.self), narrow(layer.feed_forward)});
    for (const auto& layer : w.decoder)
        single.decoder.push_back({narrow(layer.self), narrow(layer.cross), narrow(layer.feed_forward)});
    return single;
}

}  // namespace locus::test
