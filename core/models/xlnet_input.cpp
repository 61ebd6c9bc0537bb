// What XLNet makes of its configuration and its input: from perm_mask, target_mapping and input_mask to the keys that
// each stream of each sample sees.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/models/config_fields.h"
#include "core/models/xlnet.h"
#include "core/positions/position_rows.h"

namespace locus {

XlnetConfig parse_xlnet_config(const std::string& json, const std::string& location) {
    const ConfigFields fields(json, location);
    XlnetConfig config;
    config.vocab_size = fields.number(fields.either("vocab_size", "n_token"), 1, 0);
    config.d_model = fields.number(fields.either("d_model", "hidden_size"), 1, 0);
    config.n_head = fields.number(fields.either("n_head", "num_attention_heads"), 1, 0);
    if (!fields.has("d_head") && config.d_model % config.n_head != 0)
        fields.throw_unreadable("d_model", "a multiple of n_head = " + std::to_string(config.n_head),
                                Fault::unreadable);
    config.d_head = fields.number("d_head", 1, config.d_model / config.n_head);
    config.d_inner = fields.number("d_inner", 1, 0);
    config.n_layer = fields.number(fields.either("n_layer", "num_hidden_layers"), 1, 0, ConfigFields::kMostLayers);
    config.mem_len = fields.number("mem_len", 0, 0);
    config.reuse_len = fields.number("reuse_len", 0, 0);
    config.clamp_len = std::max<Index>(0, fields.number("clamp_len", -1, -1));
    const std::string attention = fields.text("attn_type", "bi");
    if (attention != "bi" && attention != "uni")
        fields.throw_unreadable("attn_type", "\"bi\" or \"uni\"", Fault::unreadable);
    config.direction = attention == "uni" ? Direction::unidirectional : Direction::bidirectional;
    config.bi_data = fields.flag("bi_data", false);
    config.same_length = fields.flag("same_length", false);
    config.ff_activation = fields.activation("ff_activation", "gelu");
    config.tied_output = fields.flag("tie_word_embeddings", true);
    config.layer_norm_eps = fields.positive("layer_norm_eps", 1e-12);
    config.summary_type = fields.text("summary_type", "last");
    // transformers' classifier hands on no index, and without one the last token is taken.
    if (config.summary_type == "cls_index") config.summary_type = "last";
    // null is none, and absent is tanh: the default of XLNetConfig.
    if (fields.json().contains("summary_activation")) config.summary_activation = fields.text("summary_activation", "");
    config.summary_use_proj = fields.flag("summary_use_proj", true);
    if (config.d_model % 2 != 0)
        fields.throw_unreadable("d_model", "an even number: sinusoids come in pairs", Fault::unreadable);
    fields.note_absent("mem_len", "0", "512", config.notes);
    if (config.mem_len > 0 && !fields.flag("use_mems_eval", true))
        config.notes.push_back(location +
                               ": use_mems_eval is false: transformers would hand no memory on to the next segment; it "
                               "is handed on here, as in the authors' code");
    return config;
}

void check_xlnet_input(const ModelInput& input, const XlnetConfig& config) {
    ModelInput plain = input;
    plain.labels = {};  // one per target here
    check_input(plain, config.vocab_size, 0);
    const Index batch = input.batch(), length = input.length();
    LOCUS_CHECK(input.mask.rank() != 3, "mask has shape " + to_string(input.mask.shape()) +
                                            ", expected [B, T]; perm_mask says which tokens see each other");
    LOCUS_CHECK(input.mask.empty() || input.input_mask.empty(),
                "both mask (1 = visible) and input_mask (1 = padding) are given, expected one of them");
    check_flags(input.input_mask, "input_mask", {batch, length});
    check_flags(input.perm_mask, "perm_mask", {batch, length, length});
    const IndexTensor& mapping = input.target_mapping;
    LOCUS_CHECK(mapping.empty() || (mapping.rank() == 3 && mapping.extent(0) == batch && mapping.extent(2) == length),
                "target_mapping has shape " + to_string(mapping.shape()) + ", expected [" + std::to_string(batch) +
                    ", P, " + std::to_string(length) + "]");
    for (Index b = 0; b < batch && !mapping.empty(); ++b) target_positions(mapping.matrix(b).cast<double>());
    const Shape targets = mapping.empty() ? input.tokens.shape() : Shape{batch, mapping.extent(1)};
    LOCUS_CHECK(input.labels.empty() || input.labels.shape() == targets,
                "labels has shape " + to_string(input.labels.shape()) + ", expected " + to_string(targets) +
                    ", one per target");
    LOCUS_CHECK(!config.bi_data || batch % 2 == 0,
                "the batch has " + std::to_string(batch) +
                    " samples, expected an even number: with bi_data the second half is reversed text");
}

Mask permutation_of(const ModelInput& input, Index b) {
    if (input.perm_mask.empty()) return {};
    return input.perm_mask.matrix(b).cast<std::uint8_t>();
}

std::vector<bool> padding_of(const ModelInput& input, Index b) {
    std::vector<bool> padding;
    const bool says_visible = !input.mask.empty();
    const IndexTensor& marks = says_visible ? input.mask : input.input_mask;
    if (marks.empty()) return padding;
    for (Index t = 0; t < input.length(); ++t) padding.push_back((marks[b * input.length() + t] != 0) != says_visible);
    return padding;
}

namespace {

/// Of the query stream: one row per target, as the token that it predicts would see it; unused targets see nothing.
Mask rows_of_targets(const Mask& query, const std::vector<Index>& targets) {
    Mask rows = Mask::Zero(std::ssize(targets), query.cols());
    for (Index p = 0; p < rows.rows(); ++p)
        if (const Index token = targets[static_cast<std::size_t>(p)]; token >= 0) rows.row(p) = query.row(token);
    return rows;
}

}  // namespace

template <class Scalar>
XlnetContext<Scalar> Xlnet<Scalar>::prepare(const ModelInput& input, Index memory, const XlnetOptions& options) const {
    const Index length = input.length(), keys = memory + length;
    XlnetContext<Scalar> pass;
    pass.options = options;
    pass.memory = memory;

    // A sinusoid for every distance between a query and a key, memory included.
    const auto sinusoids = [&](bool reversed) {
        return sinusoidal_rows<Scalar>(xlnet_distances(length, keys, config_.direction, config_.clamp_len, reversed),
                                       config_.d_model, SinusoidLayout::concatenated);
    };
    pass.r = sinusoids(false);
    if (config_.bi_data) pass.r_backward = sinusoids(true);

    std::vector<Index> all(static_cast<std::size_t>(length));
    std::iota(all.begin(), all.end(), Index(0));
    for (Index b = 0; b < input.batch(); ++b) {
        TwoStreamMasks masks = two_stream_masks(
            length, {memory, config_.direction, config_.same_length, permutation_of(input, b), padding_of(input, b)});
        if (!input.token_types.empty()) {
            const auto* first = input.token_types.data() + b * length;
            pass.types.emplace_back(first, first + length);
        }
        if (!input.target_mapping.empty()) {
            pass.query.positions.push_back(target_positions(input.target_mapping.matrix(b).template cast<double>()));
            pass.query.masks.push_back(rows_of_targets(masks.query, pass.query.positions.back()));
        }
        pass.content.positions.push_back(all);
        pass.content.masks.push_back(std::move(masks.content));
    }
    return pass;
}

template XlnetContext<float> Xlnet<float>::prepare(const ModelInput&, Index, const XlnetOptions&) const;
template XlnetContext<double> Xlnet<double>::prepare(const ModelInput&, Index, const XlnetOptions&) const;

}  // namespace locus
