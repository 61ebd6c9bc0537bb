// The Transformer's encoder, and the embeddings that both of its sides share.
#include <cmath>

#include "core/models/block.h"
#include "core/models/transformer.h"
#include "core/models/transformer_masks.h"
#include "core/positions/position_rows.h"

namespace locus {

void check_side(const ModelInput& input, const char* side, const TransformerConfig& config) {
    try {
        check_input(input, config.words, 0);
    } catch (const Error& error) {
        throw Error(error.fault(), std::string(side) + ": " + error.what());
    }
    LOCUS_CHECK(input.mask.rank() != 3, std::string(side) + ": mask has shape " + to_string(input.mask.shape()) +
                                            ", expected " + to_string(input.tokens.shape()) + " like tokens");
    LOCUS_CHECK(input.length() <= config.max_position,
                std::string(side) + ": " + std::to_string(input.length()) +
                    " tokens, expected max_position = " + std::to_string(config.max_position) + " at most");
}

std::vector<Mask> key_masks(const ModelInput& keys, Index queries, bool causal) {
    std::vector<Mask> masks(static_cast<std::size_t>(keys.batch()));
    if (keys.mask.empty() && !causal) return masks;
    for (Index b = 0; b < keys.batch(); ++b) {
        Mask& mask = masks[static_cast<std::size_t>(b)];
        mask.resize(queries, keys.length());
        for (Index i = 0; i < queries; ++i)
            for (Index j = 0; j < keys.length(); ++j)
                mask(i, j) = (!causal || j <= i) && (keys.mask.empty() || keys.mask[b * keys.length() + j] != 0);
    }
    return masks;
}

template <class Scalar>
Tensor<Scalar> Transformer<Scalar>::embed(const ModelInput& input, Trace& trace) const {
    Tensor<Scalar> x({input.batch(), input.length(), config_.width});
    for (Index n = 0; n < input.tokens.size(); ++n) x.rows().row(n) = weights_.word_table.row(input.tokens[n]);
    trace.add("embeddings.word", x);
    const Matrix<Scalar> positions =
        sinusoidal_table<Scalar>(input.length(), config_.width, SinusoidLayout::interleaved);
    trace.add("positions.r", as_tensor<Scalar>({positions.rows(), positions.cols()}, positions));
    // A row of the shared table is about 1/sqrt(D) per channel; the factor lifts it to the size of the sinusoids.
    x.rows() *= Scalar(std::sqrt(static_cast<double>(config_.width)));
    for (Index b = 0; b < input.batch(); ++b) x.matrix(b) += positions;
    trace.add("embeddings.output", x);
    return x;
}

template <class Scalar>
Tensor<Scalar> Transformer<Scalar>::encode(const ModelInput& source, Trace& trace) const {
    check_side(source, "source", config_);
    const std::vector<Mask> masks = key_masks(source, source.length(), false);
    Tensor<Scalar> x = embed(source, trace);
    for (Index l = 0; l < config_.layers; ++l) {
        const EncoderLayerWeights<Scalar>& layer = weights_.encoder[static_cast<std::size_t>(l)];
        const std::string prefix = "layer." + std::to_string(l);
        const auto self = multi_head_attention(x, x, layer.self, config_.heads, masks, config_.layer_norm_eps);
        keep_attention(self, prefix, trace);
        const auto forward = feed_forward(self.output, layer.feed_forward, config_.layer_norm_eps);
        keep_feed_forward(forward, prefix, trace);
        x = forward.output;
    }
    return x;
}

template Tensor<float> Transformer<float>::embed(const ModelInput&, Trace&) const;
template Tensor<double> Transformer<double>::embed(const ModelInput&, Trace&) const;
template Tensor<float> Transformer<float>::encode(const ModelInput&, Trace&) const;
template Tensor<double> Transformer<double>::encode(const ModelInput&, Trace&) const;

}  // namespace locus
