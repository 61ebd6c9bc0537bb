#include "core/models/transformer_xl.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/attention/relative.h"
#include "core/models/relative_heads.h"
#include "core/positions/position_rows.h"

namespace locus {

namespace {

/// A number of a file asks for so much memory; the released model has 1600.
constexpr Index kMostZeros = 100'000;

}  // namespace

// --- the pass ---

template <class Scalar>
void TransformerXl<Scalar>::check(const std::vector<ModelInput>& segments, Dialect dialect,
                                  const StageFilter& wanted) const {
    for (const ModelInput& input : segments) check_input(input, config_.vocab_size, 0);
    check_segments(segments, static_cast<std::size_t>(config_.n_layer) + 1, config_.d_model);
    wanted.check_against(stage_names(segments, dialect));
    const Index rows = rows_before_first(config_, dialect);
    if (rows > kMostZeros && segments.front().memories.empty())
        throw Error(Fault::unsupported, weights_.location() + ": mem_len is " + std::to_string(rows) +
                                            ", expected at most " + std::to_string(kMostZeros) +
                                            " in the dialect hf, which begins a text with so many rows of 0");
}

template <class Scalar>
Trace TransformerXl<Scalar>::forward(const std::vector<ModelInput>& segments, Dialect dialect,
                                     const StageFilter& wanted) const {
    check(segments, dialect, wanted);
    Trace trace(wanted, Scheme::transformer_xl);
    trace.expect(stage_names(segments, dialect));
    SegmentMemory<Scalar> memory = first_memory<Scalar>(segments.front());
    if (const Index rows = rows_before_first(config_, dialect); rows > 0 && memory.empty())
        memory.assign(static_cast<std::size_t>(config_.n_layer) + 1,
                      Tensor<Scalar>({segments.front().batch(), rows, config_.d_model}));
    for (std::size_t s = 0; s < segments.size() && !trace.complete(); ++s)
        memory = run_segment(segments[s], memory, dialect, segment_prefix(s, segments.size()), trace);
    return trace;
}

template <class Scalar>
SegmentMemory<Scalar> TransformerXl<Scalar>::run_segment(const ModelInput& input, const SegmentMemory<Scalar>& memory,
                                                         Dialect dialect, const std::string& prefix,
                                                         Trace& trace) const {
    check_input(input, config_.vocab_size, 0);
    const Index remembered = remembered_rows(memory, input);

    // r: a sinusoid for every distance that a query can have to a key, memory included [R,D].
    const Matrix<Scalar> r =
        sinusoidal_rows<Scalar>(transformer_xl_distances(remembered + input.length(), config_.clamp_len),
                                config_.d_model, SinusoidLayout::concatenated);

    // The next segment gets the newest rows of what every layer read here, without a gradient in training.
    const MemoryRows keep = rows_to_keep(config_, remembered, input.length(), dialect);
    const auto memory_of = [&](Index l) {
        return memory.empty() ? Tensor<Scalar>() : memory[static_cast<std::size_t>(l)];
    };
    SegmentMemory<Scalar> next;
    const auto remember = [&](Index l, const Tensor<Scalar>& x) {
        if (config_.mem_len == 0) return;
        next.push_back(slice_rows(memory_and_segment(memory_of(l), x), keep.begin, keep.end));
        trace.add(prefix + "memory." + std::to_string(l), next.back());
    };

    Tensor<Scalar> x = embeddings(input, prefix, trace);
    trace.add(prefix + "positions.r", as_tensor<Scalar>({r.rows(), r.cols()}, r));
    remember(0, x);
    for (Index l = 0; l < config_.n_layer; ++l) {
        if (trace.complete()) return {};
        x = run_layer(l, x, memory_of(l), r, dialect, prefix + "layer." + std::to_string(l), trace);
        if (trace.complete()) return {};
        remember(l + 1, x);
    }
    if (has_head()) head(input, x, dialect, prefix, trace);
    return next;
}

template <class Scalar>
Tensor<Scalar> TransformerXl<Scalar>::embeddings(const ModelInput& input, const std::string& prefix,
                                                 Trace& trace) const {
    // One row per token, E -> D, times sqrt(D).  No position is added: it enters every layer through r.
    Matrix<Scalar> rows = words_.vectors(input.tokens.values());
    trace.add(prefix + "embeddings.word", as_tensor<Scalar>({input.batch(), input.length(), rows.cols()}, rows));
    rows = words_.scaled(std::move(rows));
    Tensor<Scalar> output = as_tensor<Scalar>({input.batch(), input.length(), config_.d_model}, rows);
    trace.add(prefix + "embeddings.output", output);
    return output;
}

template <class Scalar>
Tensor<Scalar> TransformerXl<Scalar>::run_layer(Index l, const Tensor<Scalar>& x, const Tensor<Scalar>& memory,
                                                const Matrix<Scalar>& r, Dialect dialect, const std::string& prefix,
                                                Trace& trace) const {
    const TransformerXlLayer<Scalar>& weights = layer(l);
    const Index queries = x.extent(1), rows = memory.empty() ? 0 : memory.extent(1);

    // [memory; x] gives keys and values, x alone the queries.  Pre-norm norms both, the memory too.
    Tensor<Scalar> both = memory_and_segment(memory, x);
    if (config_.pre_lnorm)
        both.rows() = compute_.layer_norm(both.rows(), weights.block.attention_norm, config_.layer_norm_eps);
    const Tensor<Scalar> own = config_.pre_lnorm ? slice_rows(both, rows, rows + queries) : x;

    // q, k, v of the content, and r_k of the distances: heads split.
    const Tensor<Scalar> q = project_heads(own, weights.query, config_.n_head, compute_);
    const Tensor<Scalar> k = project_heads(both, weights.key, config_.n_head, compute_);
    const Tensor<Scalar> v = project_heads(both, weights.value, config_.n_head, compute_);
    const Tensor<Scalar> r_k = project_positions(r, weights.position, config_.n_head, compute_);
    trace.add(prefix + ".k", k);
    trace.add(prefix + ".v", v);
    trace.add(prefix + ".r_k", r_k);

    // Relative attention; no query sees a key after itself.  With same_length and no memory it sees none at all.
    std::vector<Index> positions(static_cast<std::size_t>(queries));
    std::iota(positions.begin(), positions.end(), Index(0));
    const Mask mask = transformer_xl_mask(queries, rows, config_.same_length, config_.mem_len);
    const auto samples = static_cast<std::size_t>(x.extent(0));
    const RelativeHeads<Scalar> heads{.q = q,
                                      .k = k,
                                      .v = v,
                                      .r_k = std::vector(samples, &r_k),
                                      .content_bias = weights.content_bias,
                                      .position_bias = weights.position_bias,
                                      .first = r.rows() - 1,
                                      .memory = rows,
                                      .positions = std::vector(samples, positions),
                                      .masks = std::vector(samples, mask),
                                      .masked_row = dialect == Dialect::hf ? MaskedRow::uniform : MaskedRow::zero,
                                      .segment_term = {}};
    const Tensor<Scalar> context = relative_attention(heads, prefix, trace, compute_);
    if (trace.complete()) return {};

    // Residual, norm, feed-forward, residual, norm.
    return finish_layer(weights.block, context, x, prefix, trace, compute_);
}

template <class Scalar>
void TransformerXl<Scalar>::head(const ModelInput& input, const Tensor<Scalar>& x, Dialect dialect,
                                 const std::string& prefix, Trace& trace) const {
    const bool wants_loss = !input.labels.empty() && trace.wants(prefix + "lm.loss");
    const bool wants_logits = wants_loss || trace.wants(prefix + "lm.logits");
    const Index others = config_.clusters() - 1;
    const auto with_rows = [&](const ConstView<Scalar>& rows) {
        return as_tensor<Scalar>({x.extent(0), x.extent(1), rows.cols()}, rows);
    };

    // One softmax over all words, or the clusters first and the words of each then: log-probabilities, which are
    // logits too, for their softmax is the probabilities.
    Matrix<Scalar> logits;
    if (others == 0) {
        if (wants_logits) logits = words_.logits(x.rows());
    } else if (wants_logits || trace.wants(prefix + "lm.clusters")) {
        const Matrix<Scalar> choice = words_.choice(x.rows(), dialect);
        trace.add(prefix + "lm.clusters", with_rows(choice.rightCols(others)));
        if (wants_logits) logits = words_.log_probabilities(x.rows(), choice);
    }
    if (!wants_logits) return;
    trace.add(prefix + "lm.logits", with_rows(logits));
    if (!wants_loss) return;
    Tensor<Scalar> loss({x.extent(0), x.extent(1)});
    for (Index n = 0; n < loss.size(); ++n) loss[n] = compute_.cross_entropy(logits.row(n), input.labels[n]);
    trace.add(prefix + "lm.loss", std::move(loss));
}

MemoryRows rows_to_keep(const TransformerXlConfig& config, Index memory, Index queries, Dialect dialect) {
    // _update_mems(hids, mems, qlen, mlen) is called with (mlen, qlen).
    if (dialect == Dialect::official) std::swap(memory, queries);
    const Index end = memory + std::max<Index>(0, queries - config.ext_len);
    return {std::max<Index>(0, end - config.mem_len), end};
}

Index rows_before_first(const TransformerXlConfig& config, Dialect dialect) {
    return dialect == Dialect::hf ? config.mem_len : 0;
}

// --- weights ---

namespace {

std::string decoder_layer_prefix(Index layer) { return "layers." + std::to_string(layer) + "."; }

/// Those of the layers.
ExpectedTensors expected_tensors(const TransformerXlConfig& config) {
    ExpectedTensors expected;
    const Index width = config.d_model, heads = config.n_head * config.d_head;
    if (!config.untie_r)
        for (const char* name : {"r_w_bias", "r_r_bias"}) expected.add(name, {config.n_head, config.d_head});
    for (Index l = 0; l < config.n_layer; ++l) {
        const std::string attention = decoder_layer_prefix(l) + "dec_attn.", ffn = decoder_layer_prefix(l) + "pos_ff.";
        expected.add(attention + "qkv_net.weight", {3 * heads, width});
        expected.add(attention + "r_net.weight", {heads, width});
        expected.add(attention + "o_net.weight", {width, heads});
        if (config.untie_r)
            for (const char* name : {"r_w_bias", "r_r_bias"})
                expected.add(attention + name, {config.n_head, config.d_head});
        expected.add_norm(attention + "layer_norm", width);
        expected.add_dense(ffn + "CoreNet.0", config.d_inner, width);
        expected.add_dense(ffn + "CoreNet.3", width, config.d_inner);
        expected.add_norm(ffn + "layer_norm", width);
    }
    return expected;
}

}  // namespace

template <class Scalar>
TransformerXl<Scalar>::TransformerXl(const TransformerXlConfig& config, std::shared_ptr<const WeightSource> weights,
                                     const Operations<Scalar>& compute)
    : config_(config),
      weights_(std::move(weights)),
      compute_(compute),
      words_(config_, weights_, compute_),
      layers_(config.n_layer) {
    ExpectedTensors expected = expected_tensors(config_);
    words_.expect(expected);
    weights_.require_all(expected);
    weights_.note_more_layers("layers.", config_.n_layer);
    for (const std::string& note : config_.notes) weights_.note(note);
}

template <class Scalar>
ModelSizes TransformerXl<Scalar>::sizes() const {
    return {config_.vocab_size, config_.n_layer, config_.n_head, config_.d_head};
}

template <class Scalar>
const TransformerXlLayer<Scalar>& TransformerXl<Scalar>::layer(Index l) const {
    return layers_.at(l, [&](Index) {
        const std::string attention = decoder_layer_prefix(l) + "dec_attn.", ffn = decoder_layer_prefix(l) + "pos_ff.";
        const Index width = config_.d_model, heads = config_.n_head * config_.d_head;
        const Matrix<Scalar> qkv = weights_.matrix(attention + "qkv_net.weight", {3 * heads, width});
        const std::string biases = config_.untie_r ? attention : "";
        TransformerXlLayer<Scalar> made{{qkv.topRows(heads), {}},
                                        {qkv.middleRows(heads, heads), {}},
                                        {qkv.bottomRows(heads), {}},
                                        weights_.matrix(attention + "r_net.weight", {heads, width}),
                                        weights_.matrix(biases + "r_w_bias", {config_.n_head, config_.d_head}),
                                        weights_.matrix(biases + "r_r_bias", {config_.n_head, config_.d_head}),
                                        {}};
        made.block = {{weights_.matrix(attention + "o_net.weight", {width, heads}), {}},
                      weights_.norm(attention + "layer_norm", width),
                      weights_.dense(ffn + "CoreNet.0", config_.d_inner, width),
                      weights_.dense(ffn + "CoreNet.3", width, config_.d_inner),
                      weights_.norm(ffn + "layer_norm", width),
                      Activation::relu,
                      config_.layer_norm_eps,
                      config_.pre_lnorm ? NormOrder::pre : NormOrder::post};
        return made;
    });
}

template <class Scalar>
std::vector<std::string> TransformerXl<Scalar>::stage_names(const std::vector<ModelInput>& segments, Dialect) const {
    std::vector<std::string> names;
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::string prefix = segment_prefix(s, segments.size());
        for (const char* name : {"embeddings.word", "embeddings.output", "positions.r"}) names.push_back(prefix + name);
        for (Index l = 0; l < config_.n_layer; ++l)
            for (const char* stem : {"q", "k", "v", "r_k", "ac", "bd_raw", "bd", "scores", "probs", "context",
                                     "attention", "ffn_act", "ffn", "output"})
                names.push_back(prefix + "layer." + std::to_string(l) + "." + stem);
        for (Index l = 0; config_.mem_len > 0 && l <= config_.n_layer; ++l)
            names.push_back(prefix + "memory." + std::to_string(l));
        if (has_head() && config_.clusters() > 1) names.push_back(prefix + "lm.clusters");
        if (has_head()) names.push_back(prefix + "lm.logits");
        if (has_head() && !segments[s].labels.empty()) names.push_back(prefix + "lm.loss");
    }
    return names;
}

template class TransformerXl<float>;
template class TransformerXl<double>;

}  // namespace locus
