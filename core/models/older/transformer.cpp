#include "core/models/older/transformer.h"

#include <cmath>

#include "core/models/block.h"
#include "core/positions/position_rows.h"
#include "core/products.h"

namespace locus {

// --- sublayers ---

template <class Scalar>
MultiHeadResult<Scalar> multi_head_attention(const Tensor<Scalar>& x, const Tensor<Scalar>& memory,
                                             const MultiHeadWeights<Scalar>& weights, Index heads,
                                             const std::vector<Mask>& masks, double eps) {
    const Index batch = x.extent(0);
    MultiHeadResult<Scalar> result;
    // Queries from one text, keys and values from the same or another, cut into heads [B,H,T,d].
    result.q = project_heads(x, weights.query, heads);
    result.k = project_heads(memory, weights.key, heads);
    result.v = project_heads(memory, weights.value, heads);

    // Eq. 1, head by head: softmax(q k^T / sqrt(d)) v.
    result.scores = Tensor<Scalar>({batch, heads, x.extent(1), memory.extent(1)});
    result.probs = Tensor<Scalar>(result.scores.shape());
    Tensor<Scalar> context(result.q.shape());
    for (Index at = 0; at < batch * heads; ++at) {
        result.scores.matrix(at) =
            products_of_rows<Scalar>(result.q.matrix(at), result.k.matrix(at)) / std::sqrt(Scalar(result.q.extent(3)));
        result.probs.matrix(at) =
            masked_softmax<Scalar>(result.scores.matrix(at), masks[static_cast<std::size_t>(at / heads)]);
        context.matrix(at) = times<Scalar>(result.probs.matrix(at), result.v.matrix(at));
    }
    result.context = join_heads(context);

    // Residual and norm: what asked stays in the sum.
    const Matrix<Scalar> summed = dense<Scalar>(result.context.rows(), weights.out) + x.rows();
    result.output = as_tensor<Scalar>(x.shape(), layer_norm<Scalar>(summed, weights.norm, eps));
    return result;
}

template <class Scalar>
FeedForwardResult<Scalar> feed_forward(const Tensor<Scalar>& x, const FeedForwardWeights<Scalar>& weights, double eps) {
    const Matrix<Scalar> act = activate<Scalar>(dense<Scalar>(x.rows(), weights.up), Activation::relu);
    const Matrix<Scalar> ffn = dense<Scalar>(act, weights.down);
    const Matrix<Scalar> output = layer_norm<Scalar>(ffn + x.rows(), weights.norm, eps);
    return {as_tensor<Scalar>({x.extent(0), x.extent(1), act.cols()}, act), as_tensor<Scalar>(x.shape(), ffn),
            as_tensor<Scalar>(x.shape(), output)};
}

namespace {

// Stages of a sublayer; those of the cross-attention have no names.

template <class Scalar>
void keep_attention(const MultiHeadResult<Scalar>& result, const std::string& prefix, Trace& trace) {
    trace.add(prefix + ".q", result.q);
    trace.add(prefix + ".k", result.k);
    trace.add(prefix + ".v", result.v);
    trace.add(prefix + ".scores", result.scores);
    trace.add(prefix + ".probs", result.probs);
    trace.add(prefix + ".context", result.context);
    trace.add(prefix + ".attention", result.output);
}

template <class Scalar>
void keep_feed_forward(const FeedForwardResult<Scalar>& result, const std::string& prefix, Trace& trace) {
    trace.add(prefix + ".ffn_act", result.act);
    trace.add(prefix + ".ffn", result.ffn);
    trace.add(prefix + ".output", result.output);
}

}  // namespace

// --- embeddings, encoder, decoder ---

namespace {

/// Throws Error(usage) that names the side unless ids, mask and length are possible.
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

}  // namespace

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
    const std::vector<Mask> masks = key_masks(source, source.length());
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
    // A target sees the targets before it and itself; it sees the whole source.
    const std::vector<Mask> causal = key_masks(target, target.length(), true);
    const std::vector<Mask> over_source = key_masks(source, target.length());
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
    // The same table that gave the words their vectors gives every word its logit.
    Tensor<Scalar> logits = as_tensor<Scalar>({target.batch(), target.length(), config_.words},
                                              times_transposed<Scalar>(x.rows(), weights_.word_table));
    trace.add("lm.logits", logits);
    return logits;
}

template <class Scalar>
TransformerPass<Scalar> Transformer<Scalar>::forward(const ModelInput& source, const ModelInput& target,
                                                     const StageFilter& wanted) const {
    wanted.check_against(stage_names());
    TransformerPass<Scalar> pass{Trace(wanted, Scheme::absolute), Trace(wanted, Scheme::absolute), {}, {}};
    const Tensor<Scalar> encoded = encode(source, pass.encoder);
    pass.logits = decode(encoded, source, target, pass.decoder, pass.cross);
    return pass;
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

// --- configuration and weights ---

namespace {

void check_sizes(const TransformerConfig& config) {
    const auto positive = [](const char* name, Index value) {
        LOCUS_CHECK(value >= 1,
                    "transformer: " + std::string(name) + " is " + std::to_string(value) + ", expected 1 or more");
    };
    positive("words", config.words);
    positive("width", config.width);
    positive("heads", config.heads);
    positive("inner", config.inner);
    positive("layers", config.layers);
    positive("max_position", config.max_position);
    LOCUS_CHECK(config.width % 2 == 0, "transformer: width is " + std::to_string(config.width) +
                                           ", expected an even number: sinusoids come in pairs");
    LOCUS_CHECK(config.width % config.heads == 0,
                "transformer: width is " + std::to_string(config.width) +
                    ", expected a multiple of heads = " + std::to_string(config.heads));
    LOCUS_CHECK(config.layer_norm_eps > 0, "transformer: layer_norm_eps is " + std::to_string(config.layer_norm_eps) +
                                               ", expected a number above 0");
}

void expect(const std::string& name, const Shape& found, const Shape& expected) {
    LOCUS_CHECK(found == expected,
                "transformer: " + name + " is " + to_string(found) + ", expected " + to_string(expected));
}

template <class Scalar>
void check_dense(const std::string& name, const Dense<Scalar>& layer, Index out, Index in) {
    expect(name + ".weight", {layer.weight.rows(), layer.weight.cols()}, {out, in});
    if (layer.bias.size() > 0) expect(name + ".bias", {layer.bias.cols()}, {out});
}

template <class Scalar>
void check_norm(const std::string& name, const Norm<Scalar>& norm, Index width) {
    expect(name + ".norm.weight", {norm.weight.cols()}, {width});
    expect(name + ".norm.bias", {norm.bias.cols()}, {width});
}

template <class Scalar>
void check_attention(const std::string& name, const MultiHeadWeights<Scalar>& weights, Index width) {
    check_dense(name + ".query", weights.query, width, width);
    check_dense(name + ".key", weights.key, width, width);
    check_dense(name + ".value", weights.value, width, width);
    check_dense(name + ".out", weights.out, width, width);
    check_norm(name, weights.norm, width);
}

template <class Scalar>
void check_feed_forward(const std::string& name, const FeedForwardWeights<Scalar>& weights,
                        const TransformerConfig& config) {
    check_dense(name + ".up", weights.up, config.inner, config.width);
    check_dense(name + ".down", weights.down, config.width, config.inner);
    check_norm(name, weights.norm, config.width);
}

}  // namespace

template <class Scalar>
Transformer<Scalar>::Transformer(const TransformerConfig& config, TransformerWeights<Scalar> weights)
    : config_(config), weights_(std::move(weights)) {
    check_sizes(config_);
    expect("word_table", {weights_.word_table.rows(), weights_.word_table.cols()}, {config_.words, config_.width});
    expect("encoder, in layers,", {std::ssize(weights_.encoder)}, {config_.layers});
    expect("decoder, in layers,", {std::ssize(weights_.decoder)}, {config_.layers});
    for (std::size_t l = 0; l < weights_.encoder.size(); ++l) {
        const std::string name = "encoder." + std::to_string(l);
        check_attention(name + ".self", weights_.encoder[l].self, config_.width);
        check_feed_forward(name + ".feed_forward", weights_.encoder[l].feed_forward, config_);
    }
    for (std::size_t l = 0; l < weights_.decoder.size(); ++l) {
        const std::string name = "decoder." + std::to_string(l);
        check_attention(name + ".self", weights_.decoder[l].self, config_.width);
        check_attention(name + ".cross", weights_.decoder[l].cross, config_.width);
        check_feed_forward(name + ".feed_forward", weights_.decoder[l].feed_forward, config_);
    }
}

template <class Scalar>
std::vector<std::string> Transformer<Scalar>::stage_names() const {
    std::vector<std::string> names = {"embeddings.word", "embeddings.output", "positions.r"};
    for (Index l = 0; l < config_.layers; ++l)
        for (const char* stem : {"q", "k", "v", "scores", "probs", "context", "attention", "ffn_act", "ffn", "output"})
            names.push_back("layer." + std::to_string(l) + "." + stem);
    names.push_back("lm.logits");
    return names;
}

template class Transformer<float>;
template class Transformer<double>;
template MultiHeadResult<float> multi_head_attention<float>(const Tensor<float>&, const Tensor<float>&,
                                                            const MultiHeadWeights<float>&, Index,
                                                            const std::vector<Mask>&, double);
template FeedForwardResult<float> feed_forward<float>(const Tensor<float>&, const FeedForwardWeights<float>&, double);
template MultiHeadResult<double> multi_head_attention<double>(const Tensor<double>&, const Tensor<double>&,
                                                              const MultiHeadWeights<double>&, Index,
                                                              const std::vector<Mask>&, double);
template FeedForwardResult<double> feed_forward<double>(const Tensor<double>&, const FeedForwardWeights<double>&,
                                                        double);

}  // namespace locus
