// RoFormer in the order of the paper: the pass, the embeddings, one layer, the head; then configuration and weights.
//
// Letters: B batch, T tokens, H heads, D model width, d head width; m position, i query, j key.
// The trace knows when all stages that were asked for are there; the pass asks it after each sublayer and stops.
#include "core/models/roformer.h"

#include <cmath>

#include "core/models/config_fields.h"
#include "core/models/language_head.h"

namespace locus {

namespace {

constexpr const char* kRoformerWordTable = "embeddings.word_embeddings.weight";
constexpr const char* kTypeTable = "embeddings.token_type_embeddings.weight";
constexpr const char* kAngleTable = "encoder.embed_positions.weight";
constexpr const char* kHeadDense = "cls.predictions.transform.dense";
constexpr const char* kHeadBias = "cls.predictions.bias";

}  // namespace

// --- the pass ---

template <class Scalar>
void Roformer<Scalar>::check(const std::vector<ModelInput>& segments, Dialect dialect,
                             const StageFilter& wanted) const {
    check_one_segment(segments);
    check_input(segments.front(), config_.vocab_size, config_.type_vocab_size);
    wanted.check_against(stage_names(segments, dialect));
    check_length(segments.front().length());
}

template <class Scalar>
Trace Roformer<Scalar>::forward(const std::vector<ModelInput>& segments, Dialect dialect,
                                const StageFilter& wanted) const {
    check(segments, dialect, wanted);
    const ModelInput& input = segments.front();
    Trace trace(wanted, Scheme::rotary);
    trace.expect(stage_names(segments, dialect));

    // m theta_t of every position m and pair of channels t, the same in all layers.
    const Context pass{angles(input.length()), key_masks(input, input.length(), config_.causal),
                       RoformerOptions::of(dialect)};

    // Words become vectors.  No position is added to them: it enters every layer by rotation.
    Tensor<Scalar> x = embeddings(input, trace);
    trace.add("rotary.sin", as_tensor<Scalar>({pass.angles.length(), pass.angles.sin.cols()}, pass.angles.sin));
    trace.add("rotary.cos", as_tensor<Scalar>({pass.angles.length(), pass.angles.cos.cols()}, pass.angles.cos));

    for (Index l = 0; l < config_.num_hidden_layers && !trace.complete(); ++l) x = run_layer(l, x, pass, trace);
    if (classifier_ && !trace.complete()) classifier_->classify(weights_, x, "", trace, compute_);
    if (has_head() && !trace.complete()) head(input, x, trace);
    return trace;
}

template <class Scalar>
Tensor<Scalar> Roformer<Scalar>::embeddings(const ModelInput& input, Trace& trace) const {
    const Index batch = input.batch(), length = input.length();

    // One row per token [B*T,E], and the row of its sentence, A or B.
    Matrix<Scalar> rows = weights_.rows(kRoformerWordTable, input.tokens.values());
    trace.add("embeddings.word", as_tensor<Scalar>({batch, length, config_.embedding_size}, rows));
    if (config_.type_vocab_size > 0) {
        const Matrix<Scalar> types = weights_.matrix(kTypeTable, {config_.type_vocab_size, config_.embedding_size});
        const std::vector<std::int64_t> first(static_cast<std::size_t>(rows.rows()), 0);
        compute_.add_rows(types, input.token_types.empty() ? first : input.token_types.values(), rows);
    }

    // Norm first, projection E -> D after it: the opposite order of DeBERTa.
    rows = compute_.layer_norm(rows, weights_.norm("embeddings.LayerNorm", config_.embedding_size),
                               config_.layer_norm_eps);
    if (config_.embedding_size != config_.hidden_size)
        rows = compute_.dense(rows, weights_.dense("embeddings_project", config_.hidden_size, config_.embedding_size));
    Tensor<Scalar> output = as_tensor<Scalar>({batch, length, config_.hidden_size}, rows);
    trace.add("embeddings.output", output);
    return output;
}

template <class Scalar>
Tensor<Scalar> Roformer<Scalar>::run_layer(Index l, const Tensor<Scalar>& x, const Context& pass, Trace& trace) const {
    const RoformerLayer<Scalar>& weights = layer(l);
    const std::string prefix = "layer." + std::to_string(l);
    const Index batch = x.extent(0), heads = config_.num_attention_heads;
    const auto at = [heads](Index b, Index h) { return b * heads + h; };  // head h of sample b in [B,H,...]
    const auto each_head = [&](auto make) { return for_each_head<Scalar>(batch, heads, make); };

    // q, k, v: the content of every token, cut into heads [B,H,T,d].  No position is in them yet.
    const Tensor<Scalar> q = project_heads(x, weights.query, heads, compute_);
    const Tensor<Scalar> k = project_heads(x, weights.key, heads, compute_);
    const Tensor<Scalar> v = project_heads(x, weights.value, heads, compute_);
    trace.add(prefix + ".q", q);
    trace.add(prefix + ".k", k);
    trace.add(prefix + ".v", v);

    // Eq. 14: R_m x_m.  Every pair of channels is rotated by the angle of its position; channels 2t and 2t + 1 are a
    // pair here, t and t + d/2 in other code.  A rotation changes no length, so no position makes a token count more;
    // and the dot product of two rotated vectors depends on the difference of their angles, on i - j, alone.
    const auto rotated = [&](const Tensor<Scalar>& straight) {
        return each_head([&](Index b, Index h) {
            return compute_.rotate(straight.matrix(at(b, h)), pass.angles, RotaryLayout::interleaved);
        });
    };
    const Tensor<Scalar> q_rot = rotated(q), k_rot = rotated(k);
    trace.add(prefix + ".q_rot", q_rot);
    trace.add(prefix + ".k_rot", k_rot);

    // An option of the released code: values carry their position too.  The paper rotates queries and keys only, and
    // what a token receives then says nothing of where it came from.
    const Tensor<Scalar> v_rot = config_.rotary_value ? rotated(v) : v;
    if (config_.rotary_value) trace.add(prefix + ".v_rot", v_rot);

    // Eq. 16: scores = (R_i q_i) . (R_j k_j) / sqrt(d).  One product: the relative position needs no term of its own,
    // no table and no gather.
    Tensor<Scalar> scores = each_head(
        [&](Index b, Index h) { return compute_.content_to_content(q_rot.matrix(at(b, h)), k_rot.matrix(at(b, h))); });
    compute_.divide(std::sqrt(Scalar(config_.head_width())), scores.rows());
    trace.add(prefix + ".scores", scores);

    // Softmax over the visible keys.  The mask hides keys alone, so the rows of padding are ordinary (unlike DeBERTa).
    const Tensor<Scalar> probs = each_head([&](Index b, Index h) {
        return compute_.masked_softmax(scores.matrix(at(b, h)), pass.masks[static_cast<std::size_t>(b)],
                                       pass.options.masked_row);
    });
    trace.add(prefix + ".probs", probs);
    if (trace.complete()) return {};

    // context_i = sum over j of probs_ij v_j, heads joined again.
    Tensor<Scalar> context(v.shape());
    for (Index n = 0; n < batch * heads; ++n) compute_.context(probs.matrix(n), v_rot.matrix(n), context.matrix(n));
    const Tensor<Scalar> joined = join_heads(context);
    trace.add(prefix + ".context", joined);
    if (trace.complete()) return {};

    // Residual, norm, feed-forward, residual, norm: BERT's post-norm layer.
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
    const OutputLayer output = output_layer(weights_, config_.tied_output, kHeadBias);
    note_other_output(weights_, config_.tied_output);
    head.table = [&](Index first, Index count) { return weights_.block(output.table, first, count); };
    head.words = config_.vocab_size;
    head.bias = weights_.vector(output.bias, config_.vocab_size);
    masked_words(head, input, x, trace, compute_);
}

// --- configuration and weights ---

RoformerConfig parse_roformer_config(const std::string& json, const std::string& location) {
    const ConfigFields fields(json, location);
    RoformerConfig config;
    config.vocab_size = fields.number("vocab_size", 1, 0);
    config.hidden_size = fields.number("hidden_size", 1, 0);
    config.embedding_size = fields.number("embedding_size", 1, config.hidden_size);
    config.num_hidden_layers = fields.number("num_hidden_layers", 1, 0, ConfigFields::kMostLayers);
    config.num_attention_heads = fields.number("num_attention_heads", 1, 0);
    config.intermediate_size = fields.number("intermediate_size", 1, 0);
    config.max_position_embeddings = fields.number("max_position_embeddings", 1, 1536);
    config.type_vocab_size = fields.number("type_vocab_size", 0, 2);
    config.rotary_value = fields.flag("rotary_value", false);
    config.causal = fields.flag("is_decoder", false);
    config.tied_output = fields.flag("tie_word_embeddings", true);
    config.hidden_act = fields.activation("hidden_act", "gelu");
    config.layer_norm_eps = fields.positive("layer_norm_eps", 1e-12);
    if (fields.text("norm_type", "layer_norm") != "layer_norm")
        fields.throw_unreadable("norm_type", "layer_norm: RoFormer v2 is not computed", Fault::unsupported);
    if (!fields.flag("use_bias", true))
        fields.throw_unreadable("use_bias", "true: RoFormer v2 is not computed", Fault::unsupported);
    if (config.hidden_size % config.num_attention_heads != 0)
        fields.throw_unreadable("hidden_size",
                                "a multiple of num_attention_heads = " + std::to_string(config.num_attention_heads),
                                Fault::unreadable);
    if (config.head_width() % 2 != 0)
        fields.throw_unreadable("hidden_size",
                                "an even width per head (" + std::to_string(config.num_attention_heads) +
                                    " heads): rotation works on pairs of channels",
                                Fault::unreadable);
    return config;
}

namespace {

std::string roformer_prefix_of(Index layer) { return "encoder.layer." + std::to_string(layer) + "."; }

ExpectedTensors expected_tensors(const RoformerConfig& config, bool head) {
    ExpectedTensors expected;
    const Index width = config.hidden_size, embedding = config.embedding_size;
    expected.add(kRoformerWordTable, {config.vocab_size, embedding});
    if (config.type_vocab_size > 0) expected.add(kTypeTable, {config.type_vocab_size, embedding});
    expected.add_norm("embeddings.LayerNorm", embedding);
    if (embedding != width) expected.add_dense("embeddings_project", width, embedding);
    for (Index l = 0; l < config.num_hidden_layers; ++l) {
        for (const char* name : {"query", "key", "value"})
            expected.add_dense(roformer_prefix_of(l) + "attention.self." + name, width, width);
        expected.add_dense(roformer_prefix_of(l) + "attention.output.dense", width, width);
        expected.add_norm(roformer_prefix_of(l) + "attention.output.LayerNorm", width);
        expected.add_dense(roformer_prefix_of(l) + "intermediate.dense", config.intermediate_size, width);
        expected.add_dense(roformer_prefix_of(l) + "output.dense", width, config.intermediate_size);
        expected.add_norm(roformer_prefix_of(l) + "output.LayerNorm", width);
    }
    if (head) {
        expected.add_dense(kHeadDense, embedding, width);
        expected.add_norm("cls.predictions.transform.LayerNorm", embedding);
        expected.add(kHeadBias, {config.vocab_size});
    }
    return expected;
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
    if (has_head()) {
        const OutputLayer output = output_layer(weights_, config_.tied_output, kHeadBias);
        weights_.require(output.table, {config_.vocab_size, config_.embedding_size});
        weights_.require(output.bias, {config_.vocab_size});
    }
    classifier_ = ClassifierHead<Scalar>::find(
        weights_, config_.hidden_size,
        {"classifier.dense", "classifier.out_proj", "first", to_string(config_.hidden_act), "", "hidden_act"});
    if (!has_head() && weights_.has(kHeadBias))
        weights_.note(std::string("holds ") + kHeadBias + ", but no " + kHeadDense + ".weight: no word is predicted");
    weights_.note_more_layers("encoder.layer.", config_.num_hidden_layers);
    weights_.note_unread_in_layers("encoder.layer.", expected_tensors(config_, has_head()).all());
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
void Roformer<Scalar>::check_length(Index length) const {
    if (length > config_.max_position_embeddings)
        throw Error(Fault::unsupported, "the text has " + std::to_string(length) +
                                            " tokens but the model's max_position_embeddings is " +
                                            std::to_string(config_.max_position_embeddings));
}

template <class Scalar>
RotaryTable<Scalar> Roformer<Scalar>::angles(Index length) const {
    check_length(length);
    if (!weights_.has(kAngleTable)) return rotary_table<Scalar>(inverse_frequencies(config_.head_width()), 0, length);
    const RotaryTable<Scalar> held =
        rotary_table_of<Scalar>(weights_.block(kAngleTable, 0, length), SinusoidLayout::concatenated);
    note_other_angles(held);
    return held;
}

template <class Scalar>
void Roformer<Scalar>::note_other_angles(const RotaryTable<Scalar>& held) const {
    constexpr double kHalfPrecision = 0.01;  // of a table that was saved in BF16, with some room
    const RotaryTable<double> right = rotary_table<double>(inverse_frequencies(config_.head_width()), 0, held.length());
    for (Index i = 0; i < held.length(); ++i)
        for (Index t = 0; t < held.sin.cols(); ++t)
            if (!(std::abs(held.sin(i, t) - right.sin(i, t)) <= kHalfPrecision &&
                  std::abs(held.cos(i, t) - right.cos(i, t)) <= kHalfPrecision))
                return weights_.note(std::string(kAngleTable) +
                                     " does not hold the sines and cosines of i / 10000^(2t/d), from i = " +
                                     std::to_string(i) + ", t = " + std::to_string(t) + " on; it is used as it is");
}

template <class Scalar>
const RoformerLayer<Scalar>& Roformer<Scalar>::layer(Index l) const {
    return layers_.at(l, [&](Index) {
        const std::string prefix = roformer_prefix_of(l);
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
    if (classifier_)
        for (const std::string& name : classifier_->stage_names()) names.push_back(name);
    if (!has_head()) return names;
    names.insert(names.end(), {"mlm.transform", "mlm.logits"});
    const ModelInput& input = segments.front();
    if (!input.mask_positions.empty())
        names.insert(names.end(), {"mlm.positions", "mlm.transform_at_positions", "mlm.logits_at_positions"});
    if (!input.labels.empty()) names.push_back("mlm.loss");
    return names;
}

template class Roformer<float>;
template class Roformer<double>;

}  // namespace locus
