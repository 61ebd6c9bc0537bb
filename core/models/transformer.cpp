#include "core/models/transformer.h"

#include "core/models/stage_plan.h"

namespace locus {

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

template <class Scalar>
TransformerPass<Scalar> Transformer<Scalar>::forward(const ModelInput& source, const ModelInput& target,
                                                     const StageFilter& wanted) const {
    check_wanted(wanted, stage_names());
    TransformerPass<Scalar> pass{Trace(wanted, Scheme::absolute), Trace(wanted, Scheme::absolute), {}, {}};
    const Tensor<Scalar> encoded = encode(source, pass.encoder);
    pass.logits = decode(encoded, source, target, pass.decoder, pass.cross);
    return pass;
}

template class Transformer<float>;
template class Transformer<double>;

}  // namespace locus
