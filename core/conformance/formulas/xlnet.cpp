// The right formulas of XLNet, stage by stage, for both streams.  Yang et al. 2019; transformers modeling_xlnet.py.
// The query stream lives in the scope "layer.l.g."; its keys, values and position keys are those of "layer.l.".
#include <algorithm>

#include "core/conformance/formulas/classifiers.h"
#include "core/conformance/formulas/transformer_xl.h"
#include "core/models/xlnet.h"

namespace locus::conformance {

namespace {

constexpr const char* kXlnetWordTable = "word_embedding.weight";
constexpr const char* kTargetVector = "mask_emb";
constexpr const char* kXlnetOutputTable = "lm_loss.weight";
constexpr const char* kXlnetOutputBias = "lm_loss.bias";

const WeightReader<double>& xlnet_weights(const Replay& at) { return at.model().weights; }

std::string xlnet_attention_of(const Replay& at) { return "layer." + std::to_string(at.layer()) + ".rel_attn."; }
std::string xlnet_ffn_of(const Replay& at) { return "layer." + std::to_string(at.layer()) + ".ff."; }

/// Stored [D,H,d]; a dense layer wants [H*d,D].
Dense<double> projection(const Replay& at, const char* name) {
    const XlnetConfig& config = at.xlnet();
    return {xlnet_weights(at)
                .matrix(xlnet_attention_of(at) + name, {config.d_model, config.n_head, config.d_head})
                .transpose()
                .eval(),
            {}};
}

Tensor<double> projected(const Replay& at, const Tensor<double>& x, const char* name) {
    return project_heads<double>(x, projection(at, name), at.xlnet().n_head);
}

Tensor<double> xlnet_bias_of(const Replay& at, const char* name) {
    const XlnetConfig& config = at.xlnet();
    const Matrix<double> bias = xlnet_weights(at).matrix(xlnet_attention_of(at) + name, {config.n_head, config.d_head});
    return as_tensor<double>({bias.rows(), bias.cols()}, bias);
}

Tensor<double> positions_of(const Replay& at, bool reversed) {
    const XlnetConfig& config = at.xlnet();
    if (reversed && !config.bi_data) throw NotEnough{"reversed text"};
    return sinusoids_of(at, xlnet_distances(queries_of(at), keys_of(at), config.direction, config.clamp_len, reversed),
                        SinusoidLayout::concatenated);
}

Tensor<double> position_keys(const Replay& at, const char* rows) {
    return project_positions<double>(at(rows).matrix(), projection(at, "r").weight, at.xlnet().n_head);
}

/// Content stream: 0 ... T - 1; query stream: the token of each target, -1 for an unused one.
Tensor<double> xlnet_query_tokens_of(const Replay& at) {
    const ModelInput& input = at.input();
    if (!at.is_query_stream()) {
        Tensor<double> tokens({input.batch(), input.length()});
        for (Index n = 0; n < tokens.size(); ++n) tokens[n] = static_cast<double>(n % tokens.extent(1));
        return tokens;
    }
    if (input.target_mapping.empty()) throw NotEnough{"target_mapping"};
    Tensor<double> tokens({input.batch(), input.target_mapping.extent(1)});
    for (Index b = 0; b < input.batch(); ++b) {
        const std::vector<Index> targets = target_positions(input.target_mapping.matrix(b).cast<double>());
        for (std::size_t p = 0; p < targets.size(); ++p)
            tokens.matrix()(b, static_cast<Index>(p)) = static_cast<double>(targets[p]);
    }
    return tokens;
}

Tensor<double> xlnet_visible_of(const Replay& at) {
    return visible_to_stream(at, [&](Index b) {
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding_of(at, b));
        return at.is_query_stream() ? masks.query : masks.content;
    });
}

/// One trained vector for every target.
Tensor<double> query_stream_start(const Replay& at) {
    const ModelInput& input = at.input();
    if (input.target_mapping.empty()) throw NotEnough{"target_mapping"};
    const Index width = at.xlnet().d_model, rows = input.batch() * input.target_mapping.extent(1);
    const Matrix<double> start = xlnet_weights(at).matrix(kTargetVector, {1, 1, width});
    return as_tensor<double>({input.batch(), input.target_mapping.extent(1), width}, start.replicate(rows, 1));
}

Tensor<double> q_of(const Replay& at) {
    return without_unused(at, project_heads<double>(at("x_q"), projection(at, "q"), at.xlnet().n_head));
}

BlockWeights xlnet_block() {
    return {
        [](const Replay& at) {
            const XlnetConfig& config = at.xlnet();
            return Dense<double>{
                xlnet_weights(at).matrix(xlnet_attention_of(at) + "o", {config.d_model, config.n_head, config.d_head}),
                {}};
        },
        [](const Replay& at) {
            return xlnet_weights(at).norm(xlnet_attention_of(at) + "layer_norm", at.xlnet().d_model);
        },
        [](const Replay& at) {
            return xlnet_weights(at).dense(xlnet_ffn_of(at) + "layer_1", at.xlnet().d_inner, at.xlnet().d_model);
        },
        [](const Replay& at) {
            return xlnet_weights(at).dense(xlnet_ffn_of(at) + "layer_2", at.xlnet().d_model, at.xlnet().d_inner);
        },
        [](const Replay& at) { return xlnet_weights(at).norm(xlnet_ffn_of(at) + "layer_norm", at.xlnet().d_model); },
        [](const Replay& at) {
            const Activation activation = at.xlnet().ff_activation;
            const bool tanh = XlnetOptions::of(at.dialect()).tanh_gelu && activation == Activation::gelu;
            return tanh ? Activation::gelu_tanh : activation;
        },
        [](const Replay& at) { return at.xlnet().layer_norm_eps; },
        [](const Replay&) { return false; }};
}

}  // namespace

LanguageHead xlnet_head(const Replay& at) {
    const XlnetConfig& config = at.xlnet();
    const char* stream = at.input().target_mapping.empty() ? "" : "g.";
    const Tensor<double>& top = at("/layer." + std::to_string(config.n_layer - 1) + "." + stream + "output");
    return {top,
            top.rows(),
            config.tied_output ? kXlnetWordTable : kXlnetOutputTable,
            config.tied_output ? kXlnetOutputTable : kXlnetWordTable,
            config.vocab_size,
            xlnet_weights(at).vector(kXlnetOutputBias, config.vocab_size)};
}

Tensor<double> segment_term_by(const Replay& at, std::int64_t segment_of_memory, Index same, Index different) {
    const XlnetConfig& config = at.xlnet();
    const ModelInput& input = at.input();
    if (input.token_types.empty()) throw NotEnough{"token_types"};
    const Tensor<double>&tokens = at("query_tokens"), &s = at("bias.s"), &q = at("q");
    const Matrix<double> table =
        xlnet_weights(at).matrix(xlnet_attention_of(at) + "seg_embed", {2, config.n_head, config.d_head});
    const Index memory = at.remembered(), d = config.d_head;
    const auto type = [&](Index b, Index token) { return input.token_types[b * input.length() + token]; };
    const Tensor<double> ef = each_head(q, q.extent(2), keys_of(at), [&](Index n, Index h, Index b) {
        Matrix<double> rows(2, d);
        rows << table.row(same).segment(h * d, d), table.row(different).segment(h * d, d);
        std::vector<std::int64_t> asking, asked(static_cast<std::size_t>(memory), segment_of_memory);
        for (Index p = 0; p < q.extent(2); ++p)
            asking.push_back(type(b, std::max<Index>(0, static_cast<Index>(tokens.matrix()(b, p)))));
        for (Index t = 0; t < input.length(); ++t) asked.push_back(type(b, t));
        return segment_term<double>(q.matrix(n), RowVector<double>(s.matrix().row(h)), rows, asking, asked);
    });
    return without_unused(at, ef);
}

TwoStreamHiding hiding_of(const Replay& at, Index b) {
    const XlnetConfig& config = at.xlnet();
    return {at.remembered(), config.direction, config.same_length, permutation_of(at.input(), b),
            padding_of(at.input(), b)};
}

Tensor<double> visible_to_stream(const Replay& at, const std::function<Mask(Index)>& mask) {
    const Tensor<double>& tokens = at("query_tokens");
    std::vector<Mask> all;
    for (Index b = 0; b < tokens.extent(0); ++b) {
        const Mask of_segment = mask(b);
        Mask rows = Mask::Zero(tokens.extent(1), of_segment.cols());
        for (Index p = 0; p < rows.rows(); ++p)
            if (const auto token = static_cast<Index>(tokens.matrix()(b, p)); token >= 0)
                rows.row(p) = of_segment.row(token);
        all.push_back(std::move(rows));
    }
    return as_visible(all);
}

std::vector<Formula> xlnet_formulas() {
    std::vector<Formula> all = {
        {"/embeddings.word", {}, [](const Replay& at) { return rows_of_tokens(at, kXlnetWordTable); }},
        {"/embeddings.output", {"/embeddings.word"}, [](const Replay& at) { return at("/embeddings.word"); }},
        {"/query_stream", {}, query_stream_start},
        {"/positions.r", {}, [](const Replay& at) { return positions_of(at, false); }},
        {"/positions.r_backward", {}, [](const Replay& at) { return positions_of(at, true); }},
        {"query_tokens", {}, xlnet_query_tokens_of},
        {"visible", {"query_tokens"}, xlnet_visible_of},
        {"bias.u", {}, [](const Replay& at) { return xlnet_bias_of(at, "r_w_bias"); }},
        {"bias.v", {}, [](const Replay& at) { return xlnet_bias_of(at, "r_r_bias"); }},
        {"bias.s", {}, [](const Replay& at) { return xlnet_bias_of(at, "r_s_bias"); }},
        {"q", {"x_q", "query_tokens"}, q_of},
        {"k", {"memory_before", "x"}, [](const Replay& at) { return projected(at, memory_and_segment_of(at), "k"); }},
        {"v", {"memory_before", "x"}, [](const Replay& at) { return projected(at, memory_and_segment_of(at), "v"); }},
        {"r_k", {"/positions.r"}, [](const Replay& at) { return position_keys(at, "/positions.r"); }},
        {"r_k_backward",
         {"/positions.r_backward"},
         [](const Replay& at) { return position_keys(at, "/positions.r_backward"); }},
        {"ef", {"q", "bias.s", "query_tokens"}, [](const Replay& at) { return segment_term_by(at, 0, 0, 1); }},
    };
    for (Formula& formula : relative_formulas()) all.push_back(std::move(formula));
    for (Formula& formula : block_formulas(xlnet_block())) all.push_back(std::move(formula));
    for (Formula& formula : classifier_formulas()) all.push_back(std::move(formula));
    all.push_back({"/lm.logits", {}, right_language_logits});
    return all;
}

}  // namespace locus::conformance
