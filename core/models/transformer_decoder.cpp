// The Transformer's decoder, and greedy decoding with it.
#include "core/models/block.h"
#include "core/models/transformer.h"
#include "core/models/transformer_masks.h"

namespace locus {

template <class Scalar>
Tensor<Scalar> Transformer<Scalar>::decode(const Tensor<Scalar>& encoded, const ModelInput& source,
                                           const ModelInput& target, Trace& trace,
                                           std::vector<MultiHeadResult<Scalar>>& cross) const {
    check_side(source, "source", config_);
    check_side(target, "target", config_);
    LOCUS_CHECK(source.batch() == target.batch(), "transformer: " + std::to_string(source.batch()) + " sources and " +
                                                      std::to_string(target.batch()) +
                                                      " targets, expected as many of each");
    const Shape expected = {source.batch(), source.length(), config_.width};
    LOCUS_CHECK(encoded.shape() == expected, "transformer: the encoded source is " + to_string(encoded.shape()) +
                                                 ", expected " + to_string(expected));
    const std::vector<Mask> causal = key_masks(target, target.length(), true);
    const std::vector<Mask> over_source = key_masks(source, target.length(), false);
    cross.clear();
    Tensor<Scalar> x = embed(target, trace);
    for (Index l = 0; l < config_.layers; ++l) {
        const DecoderLayerWeights<Scalar>& layer = weights_.decoder[static_cast<std::size_t>(l)];
        const std::string prefix = "layer." + std::to_string(l);
        const auto self = multi_head_attention(x, x, layer.self, config_.heads, causal, config_.layer_norm_eps);
        keep_attention(self, prefix, trace);
        cross.push_back(multi_head_attention(self.output, encoded, layer.cross, config_.heads, over_source,
                                             config_.layer_norm_eps));
        const auto forward = feed_forward(cross.back().output, layer.feed_forward, config_.layer_norm_eps);
        keep_feed_forward(forward, prefix, trace);
        x = forward.output;
    }
    Tensor<Scalar> logits =
        as_tensor<Scalar>({target.batch(), target.length(), config_.words}, x.rows() * weights_.word_table.transpose());
    trace.add("lm.logits", logits);
    return logits;
}

template <class Scalar>
std::vector<std::vector<std::int64_t>> Transformer<Scalar>::greedy(const ModelInput& source, std::int64_t start,
                                                                   std::int64_t end, Index limit) const {
    for (const std::int64_t word : {start, end})
        LOCUS_CHECK(word >= 0 && word < config_.words, "greedy: word " + std::to_string(word) +
                                                           " cannot start or end a text, expected 0 to " +
                                                           std::to_string(config_.words - 1));
    LOCUS_CHECK(limit >= 1 && limit <= config_.max_position,
                "greedy: limit is " + std::to_string(limit) +
                    ", expected 1 to max_position = " + std::to_string(config_.max_position));
    Trace nothing(StageFilter::none(), Scheme::absolute);
    const Tensor<Scalar> encoded = encode(source, nothing);
    std::vector<std::vector<std::int64_t>> answers;
    for (Index b = 0; b < source.batch(); ++b) {
        ModelInput alone;
        const auto cut = [&](const IndexTensor& values) {
            IndexTensor row({1, source.length()});
            row.matrix() = values.matrix().row(b);
            return row;
        };
        alone.tokens = cut(source.tokens);
        if (!source.mask.empty()) alone.mask = cut(source.mask);
        const Tensor<Scalar> encoded_b =
            as_tensor<Scalar>({1, source.length(), config_.width}, Matrix<Scalar>(encoded.matrix(b)));
        std::vector<std::int64_t> words = {start};
        while (std::ssize(words) <= limit && (words.size() == 1 || words.back() != end)) {
            ModelInput target;
            target.tokens = IndexTensor({1, std::ssize(words)}, words);
            std::vector<MultiHeadResult<Scalar>> cross;
            const Tensor<Scalar> logits = decode(encoded_b, alone, target, nothing, cross);
            const auto last = logits.matrix().row(logits.extent(1) - 1);
            LOCUS_CHECK(last.allFinite(), "greedy: the logits of word " + std::to_string(words.size() - 1) +
                                              " of sample " + std::to_string(b) + " are not finite");
            Index likeliest = 0;
            last.maxCoeff(&likeliest);
            words.push_back(likeliest);
        }
        answers.emplace_back(words.begin() + 1, words.end());
    }
    return answers;
}

template Tensor<float> Transformer<float>::decode(const Tensor<float>&, const ModelInput&, const ModelInput&, Trace&,
                                                  std::vector<MultiHeadResult<float>>&) const;
template Tensor<double> Transformer<double>::decode(const Tensor<double>&, const ModelInput&, const ModelInput&, Trace&,
                                                    std::vector<MultiHeadResult<double>>&) const;
template std::vector<std::vector<std::int64_t>> Transformer<float>::greedy(const ModelInput&, std::int64_t,
                                                                           std::int64_t, Index) const;
template std::vector<std::vector<std::int64_t>> Transformer<double>::greedy(const ModelInput&, std::int64_t,
                                                                            std::int64_t, Index) const;

}  // namespace locus
