#include "core/models/xlnet.h"

#include <algorithm>

namespace locus {

namespace {

constexpr const char* kXlnetWordTable = "word_embedding.weight";
constexpr const char* kTargetVector = "mask_emb";
constexpr const char* kXlnetOutputTable = "lm_loss.weight";
constexpr const char* kXlnetOutputBias = "lm_loss.bias";

}  // namespace

// --- the pass ---

template <class Scalar>
void Xlnet<Scalar>::check(const std::vector<ModelInput>& segments, Dialect dialect, const StageFilter& wanted) const {
    for (const ModelInput& input : segments) check_xlnet_input(input, config_);
    check_segments(segments, static_cast<std::size_t>(config_.n_layer), config_.d_model);
    wanted.check_against(stage_names(segments, dialect));
}

template <class Scalar>
Trace Xlnet<Scalar>::forward(const std::vector<ModelInput>& segments, Dialect dialect,
                             const StageFilter& wanted) const {
    check(segments, dialect, wanted);
    Trace trace(wanted, Scheme::two_stream);
    trace.expect(stage_names(segments, dialect));
    SegmentMemory<Scalar> memory = first_memory<Scalar>(segments.front());
    for (std::size_t s = 0; s < segments.size() && !trace.complete(); ++s)
        memory = run_segment(segments[s], memory, XlnetOptions::of(dialect), segment_prefix(s, segments.size()), trace);
    return trace;
}

template <class Scalar>
SegmentMemory<Scalar> Xlnet<Scalar>::run_segment(const ModelInput& input, const SegmentMemory<Scalar>& memory,
                                                 const XlnetOptions& options, const std::string& prefix,
                                                 Trace& trace) const {
    check_xlnet_input(input, config_);
    const XlnetContext<Scalar> pass = prepare(input, remembered_rows(memory, input), options);
    XlnetStreams<Scalar> x = embeddings(input, pass, prefix, trace);

    const bool remembers = config_.mem_len > 0 || options.keeps_everything;
    SegmentMemory<Scalar> next;
    for (Index l = 0; l < config_.n_layer; ++l) {
        if (trace.complete()) return {};
        const Tensor<Scalar> before = memory.empty() ? Tensor<Scalar>() : memory[static_cast<std::size_t>(l)];
        if (remembers) next.push_back(next_memory(before, x.h));
        x = run_layer(l, x, before, pass, prefix + "layer." + std::to_string(l), trace);
    }
    if (trace.complete()) return {};

    // A single segment without mem_len (hf) has no stages of its memory.
    if (config_.mem_len > 0 || !prefix.empty())
        for (std::size_t l = 0; l < next.size(); ++l) trace.add(prefix + "memory." + std::to_string(l), next[l]);
    // A fine-tuned model reads its classes off the stream that has its targets.
    if (classifier_) classifier_->classify(weights_, pass.has_targets() ? x.g : x.h, prefix, trace, compute_);
    if (has_head()) head(input, pass, x, prefix, trace);
    return next;
}

template <class Scalar>
XlnetStreams<Scalar> Xlnet<Scalar>::embeddings(const ModelInput& input, const XlnetContext<Scalar>& pass,
                                               const std::string& prefix, Trace& trace) const {
    // h starts from the words.  Nothing is added to them: positions enter every layer through r.
    const Index width = config_.d_model;
    XlnetStreams<Scalar> x;
    x.h = as_tensor<Scalar>({input.batch(), input.length(), width},
                            weights_.rows(kXlnetWordTable, input.tokens.values()));
    trace.add(prefix + "embeddings.word", x.h);
    trace.add(prefix + "embeddings.output", x.h);

    // g starts from one learned vector, the same for every target: it must not know its own word.
    if (pass.has_targets()) {
        const Index targets = input.target_mapping.extent(1);
        const Matrix<Scalar> start = weights_.matrix(kTargetVector, {1, 1, width});
        x.g = as_tensor<Scalar>({input.batch(), targets, width}, start.replicate(input.batch() * targets, 1));
    }

    // r: a sinusoid for every distance; reversed text has distances of its own.
    trace.add(prefix + "positions.r", as_tensor<Scalar>({pass.r.rows(), width}, pass.r));
    if (config_.bi_data)
        trace.add(prefix + "positions.r_backward", as_tensor<Scalar>({pass.r.rows(), width}, pass.r_backward));
    return x;
}

namespace {

/// Which sentence a query, and every key of a sample, belongs to; memory counts as sentence 0.
template <class Scalar>
std::vector<std::int64_t> key_types(const XlnetContext<Scalar>& pass, std::size_t sample) {
    std::vector<std::int64_t> types(static_cast<std::size_t>(pass.memory), 0);
    types.insert(types.end(), pass.types[sample].begin(), pass.types[sample].end());
    return types;
}

template <class Scalar>
std::vector<std::int64_t> query_types(const XlnetContext<Scalar>& pass, const XlnetView& view, std::size_t sample) {
    std::vector<std::int64_t> types;
    for (const Index position : view.positions[sample])
        types.push_back(position < 0 ? 0 : pass.types[sample][static_cast<std::size_t>(position)]);
    return types;
}

}  // namespace

template <class Scalar>
XlnetStreams<Scalar> Xlnet<Scalar>::run_layer(Index l, const XlnetStreams<Scalar>& x, const Tensor<Scalar>& memory,
                                              const XlnetContext<Scalar>& pass, const std::string& prefix,
                                              Trace& trace) const {
    const XlnetLayer<Scalar>& weights = layer(l);
    const Index heads = config_.n_head;
    Block<Scalar> block = weights.block;
    if (pass.options.tanh_gelu && block.activation == Activation::gelu) block.activation = Activation::gelu_tanh;

    // Keys and values of [memory; h], and keys of every distance: the same for both streams.
    const Tensor<Scalar> both = memory_and_segment(memory, x.h);
    const Tensor<Scalar> k = project_heads(both, weights.key, heads, compute_);
    const Tensor<Scalar> v = project_heads(both, weights.value, heads, compute_);
    const Tensor<Scalar> r_k = project_positions(pass.r, weights.position, heads, compute_);
    trace.add(prefix + ".k", k);
    trace.add(prefix + ".v", v);
    trace.add(prefix + ".r_k", r_k);
    Tensor<Scalar> r_k_backward;
    if (pass.r_backward.size() > 0) {
        r_k_backward = project_positions(pass.r_backward, weights.position, heads, compute_);
        trace.add(prefix + ".r_k_backward", r_k_backward);
    }

    const auto run_stream = [&](const Tensor<Scalar>& stream, const XlnetView& view,
                                const std::string& name) -> Tensor<Scalar> {
        // Queries of this stream, relative attention with its own masks, then residual and feed-forward.
        Tensor<Scalar> q = project_heads(stream, weights.query, heads, compute_);
        clear_unused(view.positions, q);
        std::vector<const Tensor<Scalar>*> r_k_of_samples;
        for (Index b = 0; b < q.extent(0); ++b) r_k_of_samples.push_back(pass.is_reversed(b) ? &r_k_backward : &r_k);
        RelativeHeads<Scalar> all{.q = q,
                                  .k = k,
                                  .v = v,
                                  .r_k = std::move(r_k_of_samples),
                                  .content_bias = weights.content_bias,
                                  .position_bias = weights.position_bias,
                                  .first = both.extent(1),
                                  .memory = pass.memory,
                                  .positions = view.positions,
                                  .masks = view.masks,
                                  .masked_row = pass.options.masked_row,
                                  .segment_term = {}};
        if (!pass.types.empty())
            all.segment_term = [&](Index b, Index h) -> Matrix<Scalar> {
                const auto sample = static_cast<std::size_t>(b);
                return compute_.segment_term(q.matrix(b * heads + h), weights.segment_bias.row(h),
                                             weights.segments.matrix(h), query_types(pass, view, sample),
                                             key_types(pass, sample));
            };
        const Tensor<Scalar> context = relative_attention(all, name, trace, compute_);
        if (trace.complete()) return {};
        return finish_layer(block, context, stream, name, trace, compute_);
    };

    // Content stream: h_i sees its own token.  Query stream: g_i sees where its token stands, and not which it is.
    XlnetStreams<Scalar> y;
    y.h = run_stream(x.h, pass.content, prefix);
    if (pass.has_targets() && !trace.complete()) y.g = run_stream(x.g, pass.query, prefix + ".g");
    return y;
}

template <class Scalar>
Tensor<Scalar> Xlnet<Scalar>::next_memory(const Tensor<Scalar>& before, const Tensor<Scalar>& h) const {
    const Index length = h.extent(1);
    const Index reused = config_.reuse_len > 0 ? std::min(config_.reuse_len, length) : length;
    const Tensor<Scalar> rows = memory_and_segment(before, slice_rows(h, 0, reused));
    const Index kept = config_.mem_len > 0 ? std::min(config_.mem_len, rows.extent(1)) : rows.extent(1);
    return slice_rows(rows, rows.extent(1) - kept, rows.extent(1));
}

template <class Scalar>
void Xlnet<Scalar>::head(const ModelInput& input, const XlnetContext<Scalar>& pass, const XlnetStreams<Scalar>& x,
                         const std::string& prefix, Trace& trace) const {
    const bool wants_loss = !input.labels.empty() && trace.wants(prefix + "lm.loss");
    if (!wants_loss && !trace.wants(prefix + "lm.logits")) return;

    // Words are predicted by g where there are targets, else by h.
    const Tensor<Scalar>& top = pass.has_targets() ? x.g : x.h;
    const char* table = config_.tied_output ? kXlnetWordTable : kXlnetOutputTable;
    if (config_.tied_output) weights_.note_if_untied(kXlnetOutputTable, kXlnetWordTable);
    const WordBlock<Scalar> block = [&](Index first, Index count) { return weights_.block(table, first, count); };
    const Matrix<Scalar> logits = compute_.word_logits(top.rows(), block, config_.vocab_size,
                                                       weights_.vector(kXlnetOutputBias, config_.vocab_size));
    trace.add(prefix + "lm.logits", as_tensor<Scalar>({top.extent(0), top.extent(1), config_.vocab_size}, logits));
    if (!wants_loss) return;

    // One loss per target that is used.
    std::vector<Scalar> losses;
    for (Index n = 0; n < logits.rows(); ++n) {
        const auto sample = static_cast<std::size_t>(n / top.extent(1)),
                   row = static_cast<std::size_t>(n % top.extent(1));
        if (!pass.has_targets() || pass.query.positions[sample][row] >= 0)
            losses.push_back(compute_.cross_entropy(logits.row(n), input.labels[n]));
    }
    const Shape shape = {std::ssize(losses)};
    trace.add(prefix + "lm.loss", Tensor<Scalar>(shape, std::move(losses)));
}

// --- weights and stages ---

namespace {

/// "layer.3."
std::string xlnet_prefix_of(Index layer) { return "layer." + std::to_string(layer) + "."; }

ExpectedTensors expected_tensors(const XlnetConfig& config) {
    ExpectedTensors expected;
    const Index width = config.d_model, heads = config.n_head, head_width = config.d_head;
    expected.add(kXlnetWordTable, {config.vocab_size, width});
    expected.add(kTargetVector, {1, 1, width});
    for (Index l = 0; l < config.n_layer; ++l) {
        const std::string attention = xlnet_prefix_of(l) + "rel_attn.", ffn = xlnet_prefix_of(l) + "ff.";
        for (const char* name : {"q", "k", "v", "r", "o"}) expected.add(attention + name, {width, heads, head_width});
        for (const char* name : {"r_w_bias", "r_r_bias", "r_s_bias"})
            expected.add(attention + name, {heads, head_width});
        expected.add(attention + "seg_embed", {2, heads, head_width});
        expected.add_norm(attention + "layer_norm", width);
        expected.add_dense(ffn + "layer_1", config.d_inner, width);
        expected.add_dense(ffn + "layer_2", width, config.d_inner);
        expected.add_norm(ffn + "layer_norm", width);
    }
    return expected;
}

}  // namespace

XlnetOptions XlnetOptions::of(Dialect dialect) {
    XlnetOptions options;
    const bool as_code = dialect == Dialect::hf || dialect == Dialect::official;
    options.masked_row = as_code ? MaskedRow::uniform : MaskedRow::zero;
    options.tanh_gelu = dialect == Dialect::official;
    options.keeps_everything = dialect == Dialect::hf;
    return options;
}

template <class Scalar>
Xlnet<Scalar>::Xlnet(const XlnetConfig& config, std::shared_ptr<const WeightSource> weights,
                     const Operations<Scalar>& compute)
    : config_(config), weights_(std::move(weights)), compute_(compute), layers_(config.n_layer) {
    weights_.require_all(expected_tensors(config_));
    weights_.note_more_layers("layer.", config_.n_layer);
    for (const std::string& note : config_.notes) weights_.note(note);
    weights_.note_unread_in_layers("layer.", expected_tensors(config_).all());
    classifier_ = ClassifierHead<Scalar>::find(
        weights_, config_.d_model,
        {config_.summary_use_proj ? "sequence_summary.summary" : "", "logits_proj", config_.summary_type,
         config_.summary_activation, "summary_type", "summary_activation"});
    if (has_head()) weights_.require(kXlnetOutputBias, {config_.vocab_size});
    if (has_head() && !config_.tied_output) weights_.require(kXlnetOutputTable, {config_.vocab_size, config_.d_model});
}

template <class Scalar>
ModelSizes Xlnet<Scalar>::sizes() const {
    return {config_.vocab_size, config_.n_layer, config_.n_head, config_.d_head};
}

template <class Scalar>
bool Xlnet<Scalar>::has_head() const {
    return weights_.has(kXlnetOutputBias);
}

template <class Scalar>
const XlnetLayer<Scalar>& Xlnet<Scalar>::layer(Index l) const {
    return layers_.at(l, [&](Index) {
        const std::string attention = xlnet_prefix_of(l) + "rel_attn.", ffn = xlnet_prefix_of(l) + "ff.";
        const Index width = config_.d_model, heads = config_.n_head, head_width = config_.d_head;
        // Stored [in, heads, head width]; a dense layer wants [out, in].
        const auto projection = [&](const char* name) -> Matrix<Scalar> {
            return weights_.matrix(attention + name, {width, heads, head_width}).transpose();
        };
        const auto bias = [&](const char* name) { return weights_.matrix(attention + name, {heads, head_width}); };
        XlnetLayer<Scalar> made{{projection("q"), {}},
                                {projection("k"), {}},
                                {projection("v"), {}},
                                projection("r"),
                                bias("r_w_bias"),
                                bias("r_r_bias"),
                                bias("r_s_bias"),
                                {},
                                {}};
        const Matrix<Scalar> segments = weights_.matrix(attention + "seg_embed", {2, heads, head_width});
        made.segments = Tensor<Scalar>({heads, 2, head_width});
        for (Index h = 0; h < heads; ++h) made.segments.matrix(h) = segments.middleCols(h * head_width, head_width);
        made.block = {{weights_.matrix(attention + "o", {width, heads, head_width}), {}},
                      weights_.norm(attention + "layer_norm", width),
                      weights_.dense(ffn + "layer_1", config_.d_inner, width),
                      weights_.dense(ffn + "layer_2", width, config_.d_inner),
                      weights_.norm(ffn + "layer_norm", width),
                      config_.ff_activation,
                      config_.layer_norm_eps,
                      NormOrder::post};
        return made;
    });
}

template <class Scalar>
std::vector<std::string> Xlnet<Scalar>::stage_names(const std::vector<ModelInput>& segments, Dialect dialect) const {
    std::vector<std::string> names;
    const bool remembers = config_.mem_len > 0 || (XlnetOptions::of(dialect).keeps_everything && segments.size() > 1);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const ModelInput& input = segments[s];
        const std::string prefix = segment_prefix(s, segments.size());
        for (const char* name : {"embeddings.word", "embeddings.output", "positions.r"}) names.push_back(prefix + name);
        if (config_.bi_data) names.push_back(prefix + "positions.r_backward");
        for (Index l = 0; l < config_.n_layer; ++l) {
            const std::string at = prefix + xlnet_prefix_of(l);
            for (const char* stem : {"k", "v", "r_k"}) names.push_back(at + stem);
            if (config_.bi_data) names.push_back(at + "r_k_backward");
            for (const char* stream : {"", "g."})
                for (const char* stem : {"q", "ac", "bd_raw", "bd", "ef", "scores", "probs", "context", "attention",
                                         "ffn_act", "ffn", "output"})
                    if ((*stream == 0 || !input.target_mapping.empty()) &&
                        (std::string(stem) != "ef" || !input.token_types.empty()))
                        names.push_back(at + stream + stem);
        }
        for (Index l = 0; remembers && l < config_.n_layer; ++l)
            names.push_back(prefix + "memory." + std::to_string(l));
        if (classifier_)
            for (const std::string& name : classifier_->stage_names()) names.push_back(prefix + name);
        if (has_head()) names.push_back(prefix + "lm.logits");
        if (has_head() && !input.labels.empty()) names.push_back(prefix + "lm.loss");
    }
    return names;
}

template class Xlnet<float>;
template class Xlnet<double>;

}  // namespace locus
