#include "core/models/deberta.h"

#include "core/models/deberta_pass.h"
#include "core/models/fast_encoder.h"
#include "core/models/stage_plan.h"

namespace locus {

template <class Scalar>
struct Deberta<Scalar>::Parts {
    Parts(const DebertaConfig& config, std::shared_ptr<const WeightSource> source, const Operations<Scalar>& compute)
        : weights(config, std::move(source), compute) {}
    DebertaWeights<Scalar> weights;
};

std::vector<Mask> pair_masks(const ModelInput& input) {
    const Index length = input.length();
    std::vector<Mask> masks(static_cast<std::size_t>(input.batch()));
    if (input.mask.empty()) return masks;
    for (Index b = 0; b < input.batch(); ++b) {
        Mask& mask = masks[static_cast<std::size_t>(b)];
        mask.resize(length, length);
        for (Index i = 0; i < length; ++i)
            for (Index j = 0; j < length; ++j)
                mask(i, j) = input.mask.rank() == 3
                                 ? input.mask[(b * length + i) * length + j] != 0
                                 : input.mask[b * length + i] != 0 && input.mask[b * length + j] != 0;
    }
    return masks;
}

RelativeBuckets deberta_line(const DebertaConfig& config, Index length, OffsetClamp clamp) {
    if (config.position_buckets > 0)
        return RelativeBuckets::logarithmic(length, length, config.position_buckets, config.max_relative_positions,
                                            clamp);
    return RelativeBuckets::clamped(length, length, config.max_relative_positions);
}

namespace {

std::vector<std::string> layer_stage_names(const DebertaConfig& config) {
    std::vector<std::string> names = {".q", ".k", ".v"};
    if (config.terms.p2c) names.push_back(".q_r");
    if (config.terms.c2p) names.push_back(".k_r");
    names.push_back(".c2c");
    if (config.terms.c2p) names.push_back(".c2p");
    if (config.terms.p2c) names.push_back(".p2c");
    names.push_back(".scores");
    if (config.talking_head) names.push_back(".scores_mixed");
    names.push_back(".probs");
    if (config.talking_head) names.push_back(".probs_mixed");
    for (const char* name : {".context", ".attention", ".ffn_act", ".ffn", ".output"}) names.push_back(name);
    return names;
}

void append(std::vector<std::string>& names, const std::string& prefix, const std::vector<std::string>& stems) {
    for (const std::string& stem : stems) names.push_back(prefix + stem);
}

/// What has to run so that every wanted stage can be kept.
struct Plan {
    bool head = false;
    bool decoder = false;
    std::vector<bool> layer, output;  // per layer: does it run; is its output needed
};

Plan plan_pass(const std::vector<std::string>& names, const StageFilter& wanted, Index layers, bool decodes) {
    Plan plan;
    plan.layer.resize(static_cast<std::size_t>(layers));
    plan.output.resize(static_cast<std::size_t>(layers));
    for (const std::string& name : names) {
        if (!wanted.keeps(name)) continue;
        plan.head = plan.head || (name.starts_with("mlm.") && name != "mlm.positions");
        plan.decoder = plan.decoder || name.starts_with("emd.");
        if (name.starts_with("layer.")) plan.layer[static_cast<std::size_t>(std::stol(name.substr(6)))] = true;
        if (name.ends_with(".output") && name.starts_with("layer."))
            plan.output[static_cast<std::size_t>(std::stol(name.substr(6)))] = true;
    }
    plan.decoder = plan.decoder || (plan.head && decodes);
    bool later = plan.head && !plan.decoder;  // does something after this layer need its output?
    for (Index layer = layers - 1; layer >= 0; --layer) {
        const auto at = static_cast<std::size_t>(layer);
        later = later || (plan.decoder && layer == layers - 2);
        plan.output[at] = plan.output[at] || later;
        plan.layer[at] = plan.layer[at] || plan.output[at];
        later = later || plan.layer[at];
    }
    return plan;
}

/// Stages about positions, which need no text.
template <class Scalar>
void keep_relative(const DebertaPass<Scalar>& pass) {
    if (!pass.line) return;
    if (pass.trace.wants("relative.index")) pass.trace.add("relative.index", pass.line->matrix());
    if (!pass.trace.wants("relative.table")) return;
    const Matrix<Scalar>& table = pass.weights.relative_table();
    Tensor<Scalar> kept({table.rows(), table.cols()});
    kept.rows() = table;
    pass.trace.add("relative.table", std::move(kept));
}

}  // namespace

template <class Scalar>
Deberta<Scalar>::Deberta(DebertaConfig config, std::shared_ptr<const WeightSource> weights,
                         const Operations<Scalar>& compute, ForwardPath path)
    : parts_(std::make_unique<Parts>(config, std::move(weights), compute)) {
    if (path == ForwardPath::fast && &compute == &cpu_operations<Scalar>() && has_fast_path(config))
        fast_ = std::make_shared<FastPath<Scalar>>(parts_->weights);
}
template <class Scalar>
Deberta<Scalar>::~Deberta() = default;
template <class Scalar>
Deberta<Scalar>::Deberta(Deberta&&) noexcept = default;
template <class Scalar>
Deberta<Scalar>& Deberta<Scalar>::operator=(Deberta&&) noexcept = default;

template <class Scalar>
const DebertaConfig& Deberta<Scalar>::config() const {
    return parts_->weights.config();
}

template <class Scalar>
bool Deberta<Scalar>::has_head() const {
    return !parts_->weights.head_dense().empty();
}

template <class Scalar>
bool Deberta<Scalar>::has_decoder() const {
    return parts_->weights.has_absolute_table() && !config().position_biased_input && config().num_hidden_layers >= 2 &&
           config().embedding_size == config().hidden_size;
}

template <class Scalar>
RelativeBuckets Deberta<Scalar>::bucket_line(Index length, const DebertaOptions& options) const {
    LOCUS_CHECK(config().relative_attention, "bucket_line: this model has no relative attention");
    return deberta_line(config(), length, options.offset_clamp);
}

template <class Scalar>
Matrix<Scalar> Deberta<Scalar>::absolute_rows(Index length) const {
    return parts_->weights.absolute_rows(length);
}

template <class Scalar>
std::vector<std::string> Deberta<Scalar>::warnings() const {
    return parts_->weights.warnings();
}

template <class Scalar>
std::vector<std::string> Deberta<Scalar>::stage_names(const ModelInput& input, const DebertaOptions& options) const {
    std::vector<std::string> names = {"embeddings.word", "embeddings.output"};
    if (config().relative_attention) append(names, "relative", {".index", ".table"});
    const std::vector<std::string> stems = layer_stage_names(config());
    for (Index layer = 0; layer < config().num_hidden_layers; ++layer) {
        append(names, "layer." + std::to_string(layer), stems);
        if (layer == 0 && config().conv_kernel_size > 0) {
            names.pop_back();
            append(names, "layer.0", {".output_before_conv", ".conv", ".conv_act", ".output"});
        }
    }
    if (has_decoder() && options.decoder != MaskDecoder::none) {
        names.push_back("emd.query.0");
        for (int pass = 0; pass < kDecoderPasses; ++pass) {
            std::vector<std::string> pass_stems = stems;
            if (options.decoder == MaskDecoder::seed)
                std::erase_if(pass_stems, [](const std::string& stem) { return stem.starts_with(".ffn"); });
            append(names, "emd." + std::to_string(pass), pass_stems);
        }
    }
    if (!has_head()) return names;
    append(names, "mlm", {".transform", ".logits"});
    if (!input.mask_positions.empty())
        append(names, "mlm", {".positions", ".transform_at_positions", ".logits_at_positions"});
    if (!input.labels.empty()) names.push_back("mlm.loss");
    return names;
}

template <class Scalar>
Trace Deberta<Scalar>::forward(const ModelInput& input, const DebertaOptions& options, const StageFilter& wanted,
                               const CancelToken& stop) const {
    check_input(input, config().vocab_size, config().type_vocab_size);
    const std::vector<std::string> names = stage_names(input, options);
    check_wanted(wanted, names);
    const bool decodes = has_decoder() && options.decoder != MaskDecoder::none;
    const Plan plan = plan_pass(names, wanted, config().num_hidden_layers, decodes);
    if (plan.decoder) parts_->weights.absolute_rows(input.length());  // refuse too long a text before any work

    Trace trace(wanted);
    DebertaPass<Scalar> pass{parts_->weights, input, options, trace, pair_masks(input), std::nullopt};
    if (config().relative_attention) pass.line = bucket_line(input.length(), options);
    std::unique_lock<std::mutex> alone;
    if (takes_fast_path(input, options, wanted)) {
        alone = std::unique_lock(fast_->guard);
        pass.fast = fast_.get();
    }
    const bool encodes = std::find(plan.layer.begin(), plan.layer.end(), true) != plan.layer.end();
    Tensor<Scalar> embeddings;
    if (encodes || wanted.keeps_any({"embeddings.word", "embeddings.output"})) embeddings = deberta_embeddings(pass);
    keep_relative(pass);

    Tensor<Scalar> hidden = embeddings, last_input;
    for (Index layer = 0; layer < config().num_hidden_layers; ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        const std::string prefix = "layer." + std::to_string(layer);
        if (layer == config().num_hidden_layers - 1) last_input = hidden;
        if (!plan.layer[at]) continue;
        throw_if_cancelled(stop);
        const bool convolves = layer == 0 && config().conv_kernel_size > 0;
        const bool output =
            plan.output[at] ||
            (convolves && wanted.keeps_any({"layer.0.output_before_conv", "layer.0.conv", "layer.0.conv_act"}));
        Tensor<Scalar> next = deberta_layer(pass, prefix, layer, hidden, hidden, output);
        if (!output) continue;
        if (convolves) {
            trace.add("layer.0.output_before_conv", next);
            next = deberta_convolution(pass, embeddings, next);
        }
        trace.add(prefix + ".output", next);
        hidden = std::move(next);
    }
    throw_if_cancelled(stop);
    if (plan.decoder) hidden = deberta_decoder(pass, last_input, plan.head);
    if (has_head() && (plan.head || wanted.keeps("mlm.positions"))) deberta_head(pass, hidden);
    return trace;
}

template class Deberta<float>;
template class Deberta<double>;

}  // namespace locus
