#include "core/models/xlnet.h"

#include <algorithm>

#include "core/models/language_head.h"
#include "core/models/relative_heads.h"
#include "core/models/stage_plan.h"
#include "core/models/xlnet_pass.h"

namespace locus {

namespace {

constexpr const char* kWordTable = "word_embedding.weight";
constexpr const char* kTargetVector = "mask_emb";
constexpr const char* kOutputTable = "lm_loss.weight";
constexpr const char* kOutputBias = "lm_loss.bias";

ExpectedTensors expected_tensors(const XlnetConfig& config) {
    ExpectedTensors expected;
    const Index width = config.d_model, heads = config.n_head, head_width = config.d_head;
    expected.add(kWordTable, {config.vocab_size, width});
    expected.add(kTargetVector, {1, 1, width});
    for (Index l = 0; l < config.n_layer; ++l) {
        const std::string attention = xlnet_layer_prefix(l) + "rel_attn.", ffn = xlnet_layer_prefix(l) + "ff.";
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
    if (has_head()) weights_.require(kOutputBias, {config_.vocab_size});
    if (has_head() && !config_.tied_output) weights_.require(kOutputTable, {config_.vocab_size, config_.d_model});
}

template <class Scalar>
ModelSizes Xlnet<Scalar>::sizes() const {
    return {config_.vocab_size, config_.n_layer, config_.n_head, config_.d_head};
}

template <class Scalar>
bool Xlnet<Scalar>::has_head() const {
    return weights_.has(kOutputBias);
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
            const std::string at = prefix + xlnet_layer_prefix(l);
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
        if (has_head()) names.push_back(prefix + "lm.logits");
        if (has_head() && !input.labels.empty()) names.push_back(prefix + "lm.loss");
    }
    return names;
}

template <class Scalar>
void Xlnet<Scalar>::head(const ModelInput& input, const Pass& pass, const XlnetStreams<Scalar>& x,
                         const std::string& prefix, Trace& trace) const {
    const bool wants_loss = !input.labels.empty() && trace.wants(prefix + "lm.loss");
    if (!wants_loss && !trace.wants(prefix + "lm.logits")) return;
    const Tensor<Scalar>& top = pass.has_targets() ? x.g : x.h;
    const char* table = config_.tied_output ? kWordTable : kOutputTable;
    const WordBlock<Scalar> block = [&](Index first, Index count) { return weights_.block(table, first, count); };
    const Matrix<Scalar> logits =
        compute_.word_logits(top.rows(), block, config_.vocab_size, weights_.vector(kOutputBias, config_.vocab_size));
    trace.add(prefix + "lm.logits", as_tensor<Scalar>({top.extent(0), top.extent(1), config_.vocab_size}, logits));
    if (!wants_loss) return;
    std::vector<Scalar> losses;
    for (Index n = 0; n < logits.rows(); ++n) {
        const auto sample = static_cast<std::size_t>(n / top.extent(1)),
                   row = static_cast<std::size_t>(n % top.extent(1));
        if (!pass.has_targets() || pass.targets[sample][row] >= 0)
            losses.push_back(compute_.cross_entropy(logits.row(n), input.labels[n]));
    }
    const Shape shape = {std::ssize(losses)};
    trace.add(prefix + "lm.loss", Tensor<Scalar>(shape, std::move(losses)));
}

template <class Scalar>
std::vector<Tensor<Scalar>> Xlnet<Scalar>::run_segment(const ModelInput& input,
                                                       const std::vector<Tensor<Scalar>>& memory,
                                                       const XlnetOptions& options, Index layers,
                                                       const std::string& prefix, Trace& trace) const {
    check_xlnet_input(input, config_);
    const Index remembered = memory.empty() ? 0 : memory.front().extent(1);
    LOCUS_CHECK(memory.empty() || memory.front().extent(0) == input.batch(),
                "tokens has " + std::to_string(input.batch()) + " samples but the segment before had " +
                    std::to_string(memory.front().extent(0)) + ", expected as many");
    const Pass pass = prepare(input, remembered, options);
    XlnetStreams<Scalar> x;
    x.h = as_tensor<Scalar>({input.batch(), input.length(), config_.d_model},
                            weights_.rows(kWordTable, input.tokens.values()));
    if (pass.has_targets()) {
        const Index targets = input.target_mapping.extent(1);
        const Matrix<Scalar> start = weights_.matrix(kTargetVector, {1, 1, config_.d_model});
        x.g = as_tensor<Scalar>({input.batch(), targets, config_.d_model}, start.replicate(input.batch() * targets, 1));
    }
    trace.add(prefix + "embeddings.word", x.h);
    trace.add(prefix + "embeddings.output", x.h);
    trace.add(prefix + "positions.r", as_tensor<Scalar>({pass.r.rows(), config_.d_model}, pass.r));
    if (config_.bi_data)
        trace.add(prefix + "positions.r_backward",
                  as_tensor<Scalar>({pass.r.rows(), config_.d_model}, pass.r_backward));

    const bool remembers = config_.mem_len > 0 || options.keeps_everything;
    std::vector<Tensor<Scalar>> handed_on;
    for (Index l = 0; l < layers; ++l) {
        const Tensor<Scalar> before = memory.empty() ? Tensor<Scalar>() : memory[static_cast<std::size_t>(l)];
        if (remembers) {
            const Index reused = config_.reuse_len > 0 ? std::min(config_.reuse_len, input.length()) : input.length();
            const Tensor<Scalar> rows = behind_memory(before, slice_rows(x.h, 0, reused));
            const Index kept = config_.mem_len > 0 ? std::min(config_.mem_len, rows.extent(1)) : rows.extent(1);
            handed_on.push_back(slice_rows(rows, rows.extent(1) - kept, rows.extent(1)));
        }
        x = run_layer(l, x, before, pass, prefix + "layer." + std::to_string(l), trace);
    }
    if (layers < config_.n_layer) return {};
    if (config_.mem_len > 0 || !prefix.empty())
        for (std::size_t l = 0; l < handed_on.size(); ++l)
            trace.add(prefix + "memory." + std::to_string(l), handed_on[l]);
    if (has_head()) head(input, pass, x, prefix, trace);
    return handed_on;
}

template <class Scalar>
Trace Xlnet<Scalar>::forward(const std::vector<ModelInput>& segments, Dialect dialect,
                             const StageFilter& wanted) const {
    LOCUS_CHECK(!segments.empty(), "no segments, expected at least one");
    const std::vector<std::string> names = stage_names(segments, dialect);
    check_wanted(wanted, names);
    check_memories(segments.front().memories, static_cast<std::size_t>(config_.n_layer), segments.front().batch(),
                   config_.d_model);
    std::vector<Tensor<Scalar>> memory;
    for (const Tensor<double>& rows : segments.front().memories) {
        memory.emplace_back(rows.shape());
        if (!rows.empty()) memory.back().rows() = rows.rows().template cast<Scalar>();
    }
    Trace trace(wanted, Scheme::two_stream);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::string prefix = segment_prefix(s, segments.size());
        const bool last = s + 1 == segments.size();
        const Index layers = last ? layers_to_run(names, prefix, wanted, config_.n_layer) : config_.n_layer;
        memory = run_segment(segments[s], memory, XlnetOptions::of(dialect), layers, prefix, trace);
    }
    return trace;
}

template class Xlnet<float>;
template class Xlnet<double>;

}  // namespace locus
