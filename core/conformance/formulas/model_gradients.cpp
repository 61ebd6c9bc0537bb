// The right backward pass of DeBERTa outside attention, stage by stage.
// microsoft/DeBERTa bert.py, masked_language_model.py, differentiated; checked against torch's autograd.
#include "core/conformance/formulas/model_gradients.h"

#include <algorithm>
#include <iterator>

#include "core/conformance/formulas/deberta.h"
#include "core/conformance/formulas/layers.h"
#include "core/models/word_logits.h"

namespace locus::conformance {

namespace {

constexpr Index kDecoderPasses = 2;

/// name with the number of the scope's layer for "#".
std::string numbered(const Replay& at, std::string name) {
    const std::size_t mark = name.find('#');
    return mark == std::string::npos ? name : name.replace(mark, 1, std::to_string(at.layer()));
}

Dense<double> layer_dense(const Replay& at, const std::string& name) { return at.deberta().dense(numbered(at, name)); }

/// What the head's norm reads: act(dense(x)), and what stands before that activation.
Matrix<double> before_head_activation(const Replay& at) {
    return dense<double>(head_input(at).rows(), head_parts(at).dense);
}
Matrix<double> before_head_norm(const Replay& at) {
    return activate<double>(before_head_activation(at), head_parts(at).activation);
}

/// What stands before the activation of the feed-forward part.
Matrix<double> before_activation(const Replay& at) {
    return dense<double>(at("attention").rows(), layer_dense(at, "encoder.layer.#.intermediate.dense"));
}

Tensor<double> hidden_rows_zero(const Replay& at, Tensor<double> values) {
    hide_tokens(at, values);
    return values;
}

}  // namespace

Matrix<double> side_by_side(const Tensor<double>& heads) {
    if (heads.rank() == 4) return join_heads(heads).rows();
    return join_heads(Tensor<double>({1, heads.extent(0), heads.extent(1), heads.extent(2)}, heads.values())).rows();
}

bool decoder_runs(const Replay& at) { return at.expected("/emd.1.output").has_value() || at.claimed("/emd.1.output"); }

std::vector<std::string> uses_of_model(const Replay& at) {
    const Index layers = config_of(at).num_hidden_layers;
    const bool decodes = decoder_runs(at);  // then what the encoder's last layer gives is not read
    std::vector<std::string> scopes;
    for (Index l = 0; l < layers - (decodes ? 1 : 0); ++l) scopes.push_back("layer." + std::to_string(l) + ".");
    for (Index t = 0; t < kDecoderPasses && decodes; ++t) scopes.push_back("emd." + std::to_string(t) + ".");
    return scopes;
}

std::vector<std::string> uses_of_layer(const Replay& at) {
    if (!decoder_runs(at) || at.layer() < config_of(at).num_hidden_layers - 1) return {at.scope()};
    std::vector<std::string> scopes = uses_of_model(at);
    scopes.erase(scopes.begin(), scopes.end() - kDecoderPasses);
    return scopes;
}

// The loss and the head.

Index targets_in(const Replay& at, Index b) {
    const IndexTensor& labels = at.input().labels;
    if (labels.empty()) throw NotEnough{"labels"};
    const Index length = at.input().length();
    Index count = 0;
    for (Index n = 0; n < labels.size(); ++n) count += labels[n] > 0 && (b < 0 || n / length == b);
    if (b < 0 && count == 0) throw NotEnough{"a target"};
    return count;
}

LossRule right_loss() {
    return {[](const RowVector<double>& logits, std::int64_t label) -> RowVector<double> {
                return cross_entropy_backward<double>(logits, label);
            },
            [](std::int64_t label) { return label > 0; },
            [](const Replay& at, Index) { return static_cast<double>(targets_in(at)); }};
}

Tensor<double> gradient_of_logits(const Replay& at, const LossRule& rule) {
    for (const char* other : {"/sift.loss", "/rtd.loss"})
        if (at.expected(other)) throw NotEnough{"a loss that is the masked words'"};
    const Tensor<double>& logits = at("/mlm.logits");
    const IndexTensor& labels = at.input().labels;
    if (labels.empty() || labels.size() != logits.rows().rows()) throw NotEnough{"labels"};
    Tensor<double> gradient(logits.shape());
    for (Index n = 0; n < labels.size(); ++n)
        if (rule.counts(labels[n]))
            gradient.rows().row(n) =
                rule.of_logits(logits.rows().row(n), labels[n]) / rule.divisor(at, n / at.input().length());
    return gradient;
}

namespace {

/// dlogits times the output matrix -> [B,T,E].
Tensor<double> gradient_of_transform(const Replay& at) {
    const Tensor<double>& d_logits = at("/grad.mlm.logits");
    const Matrix<double> table = at.model().weights.block(output_of(at).table, 0, d_logits.extent(2));
    return shaped(d_logits, times<double>(d_logits.rows(), table));
}

std::vector<Formula> head_gradients() {
    return {
        {"/grad.mlm.logits", {"/mlm.logits"}, [](const Replay& at) { return gradient_of_logits(at, right_loss()); }},
        {"/grad.mlm.transform", {"/grad.mlm.logits"}, gradient_of_transform},
        {"/grad.head_input", {"/grad.head_inner"}, [](const Replay& at) {
             const Tensor<double>& inner = at("/grad.head_inner");
             return shaped(inner, times<double>(inner.rows(), head_parts(at).dense.weight));
         }}};
}

}  // namespace

// Norms and activations.

NormGradients<double> right_norm(const Matrix<double>& x, const Norm<double>& norm, double eps,
                                 const Matrix<double>& d_y) {
    return layer_norm_backward<double>(x, norm, eps, d_y);
}

const std::vector<NormPlace>& norm_places() {
    const auto named = [](const char* name) {
        return [name](const Replay& at) { return at.deberta().norm(numbered(at, name)); };
    };
    static const char *const kAttention = "encoder.layer.#.attention.output.LayerNorm",
                             *const kOutput = "encoder.layer.#.output.LayerNorm",
                             *const kConv = "encoder.conv.LayerNorm", *const kEmbeddings = "embeddings.LayerNorm",
                             *const kTable = "encoder.LayerNorm";
    static const std::vector<NormPlace> places = {
        {"head",
         "/grad.head_act",
         "/grad.mlm.transform",
         {"/head_input"},
         before_head_norm,
         [](const Replay& at) { return head_parts(at).norm; }},
        {kOutput,
         "grad.ffn",
         "grad.output_before_conv",
         {"ffn", "attention"},
         [](const Replay& at) -> Matrix<double> { return output_sum(at).rows(); },
         named(kOutput)},
        {kAttention,
         "grad.attention_sum",
         "grad.attention",
         {"context", "x_q"},
         [](const Replay& at) -> Matrix<double> { return attention_sum(at, at("x_q")).rows(); },
         named(kAttention)},
        {kConv,
         "grad.merged",
         "grad.visible_output",
         {"output_before_conv", "conv_act"},
         [](const Replay& at) -> Matrix<double> {
             need_convolution(at);
             return sum_of(at("output_before_conv"), at("conv_act")).rows();
         },
         named(kConv)},
        {kEmbeddings,
         "/grad.embeddings.sum",
         "/grad.embeddings.visible",
         {"/embeddings.word"},
         [](const Replay& at) { return embedding_sum(at, config_of(at).position_biased_input); },
         named(kEmbeddings)},
        {kTable,
         "/grad.relative.rows",
         "/grad.relative.table",
         {},
         [](const Replay& at) -> Matrix<double> {
             const Shape shape = {at("/relative.table").extent(0), at("/relative.table").extent(1)};
             return at.deberta().matrix("encoder.rel_embeddings.weight", shape);
         },
         named(kTable)}};
    return places;
}

std::vector<Formula> norm_steps(const NormRule& rule) {
    std::vector<Formula> all;
    for (const NormPlace& place : norm_places()) {
        std::vector<std::string> inputs = place.inputs;
        inputs.push_back(place.above);
        all.push_back({place.below, inputs, [&place, rule](const Replay& at) {
                           const Tensor<double>& d_y = at(place.above);
                           // A model may have a table without a norm.
                           if (place.below == "/grad.relative.rows" && !config_of(at).norm_rel_ebd) return d_y;
                           return shaped(d_y, rule(place.x(at), place.norm(at), norm_eps_of(at), d_y.rows()).x);
                       }});
    }
    return all;
}

std::vector<Formula> activation_steps(const ActivationRule& rule) {
    return {{"/grad.head_inner",
             {"/grad.head_act", "/head_input"},
             [rule](const Replay& at) {
                 const Tensor<double>& d_y = at("/grad.head_act");
                 return shaped(d_y, rule(before_head_activation(at), head_parts(at).activation, d_y.rows()));
             }},
            {"grad.ffn_in",
             {"grad.ffn_act", "attention"},
             [rule](const Replay& at) {
                 const Tensor<double>& d_y = at("grad.ffn_act");
                 return shaped(d_y, rule(before_activation(at), config_of(at).hidden_act, d_y.rows()));
             }},
            {"grad.conv",  // conv_act = act(mask conv)
             {"grad.conv_act", "conv"},
             [rule](const Replay& at) {
                 need_convolution(at);
                 const Tensor<double>& d_y = at("grad.conv_act");
                 const Matrix<double> x = hidden_rows_zero(at, at("conv")).rows();
                 return hidden_rows_zero(at, shaped(d_y, rule(x, config_of(at).conv_act, d_y.rows())));
             }}};
}

// What a layer hands back.

Tensor<double> through_projection(const Replay& at, int part) {
    static constexpr const char* kStems[] = {"grad.q", "grad.k", "grad.v"};
    const Tensor<double>& heads = at(kStems[part]);
    const Matrix<double> rows = times<double>(side_by_side(heads), at.deberta().projection(at.layer(), part).weight);
    return as_tensor<double>({heads.extent(0), heads.extent(2), rows.cols()}, rows);
}

Matrix<double> through_table(const Replay& use, bool keys) {
    const DebertaConfig& config = config_of(use);
    if (keys ? !config.terms.c2p : !config.terms.p2c)
        return Matrix<double>::Zero(2 * config.span(), config.hidden_size);
    const Dense<double>& projection =
        keys ? use.deberta().position_key(use.layer()) : use.deberta().position_query(use.layer());
    return times<double>(side_by_side(use(keys ? "grad.k_r" : "grad.q_r")), projection.weight);
}

Tensor<double> gradient_of_table(const Replay& at, const std::vector<std::string>& scopes, bool keys, bool queries) {
    const DebertaConfig& config = config_of(at);
    Matrix<double> sum = Matrix<double>::Zero(2 * config.span(), config.hidden_size);
    for (const std::string& scope : scopes) {
        const Replay use = at.elsewhere(scope);
        if (keys) sum += through_table(use, true);
        if (queries) sum += through_table(use, false);
    }
    return as_tensor<double>({sum.rows(), sum.cols()}, sum);
}

namespace {

/// What the convolution of the first layer hands back to the embeddings.
Tensor<double> through_convolution(const Replay& at) {
    const Tensor<double>&x = at("/embeddings.output"), &d_y = at("grad.conv");
    Tensor<double> sum(x.shape());
    for (Index b = 0; b < x.extent(0); ++b)
        sum.matrix(b) = convolve_backward<double>(x.matrix(b), at.deberta().convolution(), d_y.matrix(b)).x;
    return sum;
}

/// Of what the layer of this scope reads; where there is no such layer, of what the encoder gives.
Tensor<double> gradient_of_input(const Replay& at) {
    const Index layers = config_of(at).num_hidden_layers, layer = at.layer();
    const bool decodes = decoder_runs(at);
    if (layer > layers || (layer == layers && decodes)) throw NotEnough{"an output that is read"};
    if (layer == layers) return at("/grad.head_input");
    if (!decodes || layer < layers - 1) {
        Tensor<double> sum = sum_of(at("grad.through_queries"), at("grad.through_keys"));
        return convolves(at) ? sum_of(std::move(sum), at("grad.through_conv")) : sum;
    }
    // Every pass of the decoder reads h as keys and values, the first one also as the query, with positions.
    Tensor<double> sum = at.elsewhere("emd.0.")("grad.x_q");
    for (const std::string& scope : uses_of_layer(at))
        sum = sum_of(std::move(sum), at.elsewhere(scope)("grad.through_keys"));
    return sum;
}

/// Of the query that a pass of the decoder reads; where there is no such pass, of what the last one gives.
Tensor<double> gradient_of_query(const Replay& at) {
    const Index pass = decoder_pass(at);
    if (pass > kDecoderPasses) throw NotEnough{"a pass of the mask decoder"};
    return at(pass == kDecoderPasses ? "/grad.head_input" : "grad.through_queries");
}

std::vector<Formula> layer_gradients() {
    return {
        {"grad.x",
         {"grad.through_queries", "grad.through_keys", "grad.through_conv", "/grad.head_input"},
         gradient_of_input},
        {"grad.x_q", {"grad.through_queries", "/grad.head_input"}, gradient_of_query},
        {"grad.through_queries",
         {"grad.attention_sum", "grad.q"},
         [](const Replay& at) { return sum_of(at("grad.attention_sum"), through_projection(at, 0)); }},
        {"grad.through_keys",
         {"grad.k", "grad.v"},
         [](const Replay& at) { return sum_of(through_projection(at, 1), through_projection(at, 2)); }},
        {"grad.through_conv", {"grad.conv", "/embeddings.output"}, through_convolution},
        {"grad.visible_output",
         {"grad.output"},
         [](const Replay& at) { return hidden_rows_zero(at, at("grad.output")); }},
        {"grad.conv_act", {"grad.merged"}, [](const Replay& at) { return at("grad.merged"); }},
        {"grad.output_before_conv",
         {"grad.output", "grad.merged"},
         [](const Replay& at) { return at(convolves(at) ? "grad.merged" : "grad.output"); }},
        {"grad.ffn_act",
         {"grad.ffn"},
         [](const Replay& at) {
             const Matrix<double>& weight = layer_dense(at, "encoder.layer.#.output.dense").weight;
             return shaped(at("grad.ffn"), times<double>(at("grad.ffn").rows(), weight));
         }},
        {"grad.attention",
         {"grad.ffn", "grad.ffn_in"},  // around the feed-forward part and through it
         [](const Replay& at) {
             const Matrix<double>& weight = layer_dense(at, "encoder.layer.#.intermediate.dense").weight;
             return sum_of(shaped(at("grad.ffn"), times<double>(at("grad.ffn_in").rows(), weight)), at("grad.ffn"));
         }},
        {"grad.context",
         {"grad.attention_sum"},
         [](const Replay& at) {
             const Matrix<double>& weight = layer_dense(at, "encoder.layer.#.attention.output.dense").weight;
             return shaped(at("grad.attention_sum"), times<double>(at("grad.attention_sum").rows(), weight));
         }},
        {"/grad.relative.table",
         {"grad.k_r", "grad.q_r"},
         [](const Replay& at) { return gradient_of_table(at, uses_of_model(at), true, true); }},
        {"/grad.embeddings.visible",
         {"grad.x"},
         [](const Replay& at) { return hidden_rows_zero(at, at.elsewhere("layer.0.")("grad.x")); }},
    };
}

}  // namespace

std::vector<Formula> deberta_model_gradient_formulas() {
    const auto right_activation = [](const Matrix<double>& x, Activation activation, const Matrix<double>& d_y) {
        return activate_backward<double>(x, activation, d_y);
    };
    std::vector<Formula> all = head_gradients();
    for (std::vector<Formula>& more :
         std::vector{norm_steps(right_norm), activation_steps(right_activation), layer_gradients()})
        std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
}

}  // namespace locus::conformance
