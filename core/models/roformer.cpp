#include "core/models/roformer.h"

#include <cmath>

#include "core/models/language_head.h"
#include "core/models/stage_plan.h"

namespace locus {

namespace {

constexpr const char* kWordTable = "embeddings.word_embeddings.weight";
constexpr const char* kTypeTable = "embeddings.token_type_embeddings.weight";
constexpr const char* kAngleTable = "encoder.embed_positions.weight";
constexpr const char* kHeadDense = "cls.predictions.transform.dense";

std::string prefix_of(Index layer) { return "encoder.layer." + std::to_string(layer) + "."; }

ExpectedTensors expected_tensors(const RoformerConfig& config, bool head) {
    ExpectedTensors expected;
    const Index width = config.hidden_size, embedding = config.embedding_size;
    expected.add(kWordTable, {config.vocab_size, embedding});
    if (config.type_vocab_size > 0) expected.add(kTypeTable, {config.type_vocab_size, embedding});
    expected.add_norm("embeddings.LayerNorm", embedding);
    if (embedding != width) expected.add_dense("embeddings_project", width, embedding);
    for (Index l = 0; l < config.num_hidden_layers; ++l) {
        for (const char* name : {"query", "key", "value"})
            expected.add_dense(prefix_of(l) + "attention.self." + name, width, width);
        expected.add_dense(prefix_of(l) + "attention.output.dense", width, width);
        expected.add_norm(prefix_of(l) + "attention.output.LayerNorm", width);
        expected.add_dense(prefix_of(l) + "intermediate.dense", config.intermediate_size, width);
        expected.add_dense(prefix_of(l) + "output.dense", width, config.intermediate_size);
        expected.add_norm(prefix_of(l) + "output.LayerNorm", width);
    }
    if (head) {
        expected.add_dense(kHeadDense, embedding, width);
        expected.add_norm("cls.predictions.transform.LayerNorm", embedding);
        expected.add("cls.predictions.bias", {config.vocab_size});
    }
    return expected;
}

/// The mask hides keys only, so padding queries have ordinary rows (unlike DeBERTa's outer product).
std::vector<Mask> key_masks(const ModelInput& input) {
    const Index length = input.length();
    std::vector<Mask> masks(static_cast<std::size_t>(input.batch()));
    if (input.mask.empty()) return masks;
    const bool per_query = input.mask.rank() == 3;
    for (Index b = 0; b < input.batch(); ++b) {
        Mask& mask = masks[static_cast<std::size_t>(b)];
        mask.resize(length, length);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j)
                mask(i, j) = input.mask[per_query ? (b * length + i) * length + j : b * length + j] != 0;
    }
    return masks;
}

}  // namespace

RoformerOptions RoformerOptions::of(Dialect dialect) {
    return {dialect == Dialect::hf ? MaskedRow::uniform : MaskedRow::zero};
}

template <class Scalar>
Roformer<Scalar>::Roformer(const RoformerConfig& config, std::shared_ptr<const WeightSource> weights,
                           const Operations<Scalar>& compute)
    : config_(config), weights_(std::move(weights)), compute_(compute), layers_(config.num_hidden_layers) {
    weights_.require_all(expected_tensors(config_, has_head()));
    if (weights_.has(kAngleTable))
        weights_.require(kAngleTable, {config_.max_position_embeddings, config_.head_width()});
}

template <class Scalar>
ModelSizes Roformer<Scalar>::sizes() const {
    return {config_.vocab_size, config_.num_hidden_layers, config_.num_attention_heads, config_.head_width()};
}

template <class Scalar>
bool Roformer<Scalar>::has_head() const {
    return weights_.has(std::string(kHeadDense) + ".weight");
}

template <class Scalar>
RotaryTable<Scalar> Roformer<Scalar>::angles(Index length) const {
    if (length > config_.max_position_embeddings)
        throw Error(Fault::unsupported, "the text has " + std::to_string(length) +
                                            " tokens but the model's max_position_embeddings is " +
                                            std::to_string(config_.max_position_embeddings));
    if (!weights_.has(kAngleTable)) return rotary_table<Scalar>(inverse_frequencies(config_.head_width()), 0, length);
    return rotary_table_of<Scalar>(weights_.block(kAngleTable, 0, length), SinusoidLayout::concatenated);
}

template <class Scalar>
const RoformerLayer<Scalar>& Roformer<Scalar>::layer(Index l) const {
    return layers_.at(l, [&](Index) {
        const std::string prefix = prefix_of(l);
        const Index width = config_.hidden_size, inner = config_.intermediate_size;
        const auto self = [&](const char* name) {
            return weights_.dense(prefix + "attention.self." + name, width, width);
        };
        RoformerLayer<Scalar> made{self("query"), self("key"), self("value"), {}};
        made.block = {weights_.dense(prefix + "attention.output.dense", width, width),
                      weights_.norm(prefix + "attention.output.LayerNorm", width),
                      weights_.dense(prefix + "intermediate.dense", inner, width),
                      weights_.dense(prefix + "output.dense", width, inner),
                      weights_.norm(prefix + "output.LayerNorm", width),
                      config_.hidden_act,
                      config_.layer_norm_eps,
                      NormOrder::post};
        return made;
    });
}

template <class Scalar>
std::vector<std::string> Roformer<Scalar>::stage_names(const std::vector<ModelInput>& segments, Dialect) const {
    std::vector<std::string> names = {"embeddings.word", "embeddings.output", "rotary.sin", "rotary.cos"};
    for (Index l = 0; l < config_.num_hidden_layers; ++l)
        for (const char* stem : {"q", "k", "v", "q_rot", "k_rot", "v_rot", "scores", "probs", "context", "attention",
                                 "ffn_act", "ffn", "output"})
            if (config_.rotary_value || std::string(stem) != "v_rot")
                names.push_back("layer." + std::to_string(l) + "." + stem);
    if (!has_head()) return names;
    names.insert(names.end(), {"mlm.transform", "mlm.logits"});
    const ModelInput& input = segments.front();
    if (!input.mask_positions.empty())
        names.insert(names.end(), {"mlm.positions", "mlm.transform_at_positions", "mlm.logits_at_positions"});
    if (!input.labels.empty()) names.push_back("mlm.loss");
    return names;
}

template <class Scalar>
Tensor<Scalar> Roformer<Scalar>::embeddings(const ModelInput& input, Trace& trace) const {
    const Index batch = input.batch(), length = input.length();
    Matrix<Scalar> rows = weights_.rows(kWordTable, input.tokens.values());
    trace.add("embeddings.word", as_tensor<Scalar>({batch, length, config_.embedding_size}, rows));
    if (config_.type_vocab_size > 0) {
        const Matrix<Scalar> types = weights_.matrix(kTypeTable, {config_.type_vocab_size, config_.embedding_size});
        const std::vector<std::int64_t> first(static_cast<std::size_t>(rows.rows()), 0);
        compute_.add_rows(types, input.token_types.empty() ? first : input.token_types.values(), rows);
    }
    // Norm first, projection behind it: the other way round than DeBERTa.
    rows = compute_.layer_norm(rows, weights_.norm("embeddings.LayerNorm", config_.embedding_size),
                               config_.layer_norm_eps);
    if (config_.embedding_size != config_.hidden_size)
        rows = compute_.dense(rows, weights_.dense("embeddings_project", config_.hidden_size, config_.embedding_size));
    Tensor<Scalar> output = as_tensor<Scalar>({batch, length, config_.hidden_size}, rows);
    trace.add("embeddings.output", output);
    return output;
}

template <class Scalar>
Tensor<Scalar> Roformer<Scalar>::run_layer(Index l, const Tensor<Scalar>& x, const RotaryTable<Scalar>& table,
                                           const std::vector<Mask>& masks, MaskedRow masked_row, Trace& trace) const {
    const RoformerLayer<Scalar>& weights = layer(l);
    const std::string prefix = "layer." + std::to_string(l);
    const Index batch = x.extent(0), length = x.extent(1), heads = config_.num_attention_heads;
    const Tensor<Scalar> q = project_heads(x, weights.query, heads, compute_),
                         k = project_heads(x, weights.key, heads, compute_);
    const Tensor<Scalar> v = project_heads(x, weights.value, heads, compute_);
    Tensor<Scalar> q_rot(q.shape()), k_rot(k.shape()), v_rot = v;
    Tensor<Scalar> scores({batch, heads, length, length}), probs(scores.shape()), context(v.shape());
    for (Index at = 0; at < batch * heads; ++at) {
        q_rot.matrix(at) = compute_.rotate(q.matrix(at), table, RotaryLayout::interleaved);
        k_rot.matrix(at) = compute_.rotate(k.matrix(at), table, RotaryLayout::interleaved);
        if (config_.rotary_value) v_rot.matrix(at) = compute_.rotate(v.matrix(at), table, RotaryLayout::interleaved);
        scores.matrix(at) = compute_.content_to_content(q_rot.matrix(at), k_rot.matrix(at));
        compute_.divide(std::sqrt(Scalar(config_.head_width())), scores.matrix(at));
        probs.matrix(at) =
            compute_.masked_softmax(scores.matrix(at), masks[static_cast<std::size_t>(at / heads)], masked_row);
        compute_.context(probs.matrix(at), v_rot.matrix(at), context.matrix(at));
    }
    const Tensor<Scalar> joined = join_heads(context);
    trace.add(prefix + ".q", q);
    trace.add(prefix + ".k", k);
    trace.add(prefix + ".v", v);
    trace.add(prefix + ".q_rot", q_rot);
    trace.add(prefix + ".k_rot", k_rot);
    if (config_.rotary_value) trace.add(prefix + ".v_rot", v_rot);
    trace.add(prefix + ".scores", scores);
    trace.add(prefix + ".probs", probs);
    trace.add(prefix + ".context", joined);
    return finish_layer(weights.block, joined, x, prefix, trace, compute_);
}

template <class Scalar>
void Roformer<Scalar>::head(const ModelInput& input, const Tensor<Scalar>& x, Trace& trace) const {
    const Index embedding = config_.embedding_size;
    MaskedWordHead<Scalar> head;
    head.dense = weights_.dense(kHeadDense, embedding, config_.hidden_size);
    head.norm = weights_.norm("cls.predictions.transform.LayerNorm", embedding);
    head.activation = config_.hidden_act;
    head.eps = config_.layer_norm_eps;
    head.table = [&](Index first, Index count) { return weights_.block(kWordTable, first, count); };
    head.words = config_.vocab_size;
    head.bias = weights_.vector("cls.predictions.bias", config_.vocab_size);
    masked_words(head, input, x, trace, compute_);
}

template <class Scalar>
Trace Roformer<Scalar>::forward(const std::vector<ModelInput>& segments, Dialect dialect,
                                const StageFilter& wanted) const {
    check_one_segment(segments);
    const ModelInput& input = segments.front();
    check_input(input, config_.vocab_size, config_.type_vocab_size);
    const std::vector<std::string> names = stage_names(segments, dialect);
    check_wanted(wanted, names);
    const RotaryTable<Scalar> table = angles(input.length());

    Trace trace(wanted, Scheme::rotary);
    Tensor<Scalar> x = embeddings(input, trace);
    trace.add("rotary.sin", as_tensor<Scalar>({table.length(), table.sin.cols()}, table.sin));
    trace.add("rotary.cos", as_tensor<Scalar>({table.length(), table.cos.cols()}, table.cos));
    const std::vector<Mask> masks = key_masks(input);
    const MaskedRow masked_row = RoformerOptions::of(dialect).masked_row;
    const Index layers = layers_to_run(names, "", wanted, config_.num_hidden_layers);
    for (Index l = 0; l < layers; ++l) x = run_layer(l, x, table, masks, masked_row, trace);
    if (has_head() && layers == config_.num_hidden_layers) head(input, x, trace);
    return trace;
}

template class Roformer<float>;
template class Roformer<double>;

}  // namespace locus
