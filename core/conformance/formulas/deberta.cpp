// The right formulas of DeBERTa, stage by stage.  He et al. 2021; microsoft/DeBERTa disentangled_attention.py, bert.py.
#include "core/conformance/formulas/deberta.h"

#include <algorithm>
#include <iterator>

#include "core/conformance/formulas/classifiers.h"
#include "core/conformance/formulas/formulas.h"
#include "core/conformance/formulas/parameter_gradients.h"
#include "core/conformance/formulas/relative_rule.h"
#include "core/models/deberta.h"
#include "core/models/language_head.h"
#include "core/models/layers.h"
#include "core/stages.h"

namespace locus::conformance {

double right_divisor(const Replay& at) {
    const int terms =
        at.has_model() ? deberta_divisor_terms(config_of(at), DebertaOptions::of(at.dialect())) : Terms{}.count();
    return score_divisor<double>(terms, at("q").extent(3));
}

namespace {

std::string layer_name(const Replay& at, const char* part) { return layer_prefix(at.layer()) + part; }

Tensor<double> projected(const Replay& at, const char* from, int part) {
    const auto& weights = at.deberta();
    return project_heads<double>(at(from), weights.projection(at.layer(), part), weights.config().num_attention_heads);
}

Tensor<double> index_of(const Replay& at) {
    const RelativeRule rule = relative_rule(at);
    return rule.matrix([&](Index offset) { return rule.row(offset); });
}

Tensor<double> table_of(const Replay& at) {
    const Matrix<double>& table = at.deberta().relative_table();
    return as_tensor<double>({table.rows(), table.cols()}, table);
}

Tensor<double> sum_of_terms(const Replay& at) {
    // Without a model folder the terms that are reported are those there are.
    Terms terms;
    if (at.has_model()) terms = at.deberta().config().terms;
    Tensor<double> sum = at("c2c");
    if (terms.c2p) sum = sum_of(std::move(sum), at("c2p"));
    if (terms.p2c) sum = sum_of(std::move(sum), at("p2c"));
    sum.rows() /= right_divisor(at);
    return sum;
}

/// Version 1 may mix its heads before the mask and after the softmax (talking heads of modeling_deberta.py); elsewhere
/// nothing happens here.
Tensor<double> mixed(const Replay& at, const char* from, const char* weight) {
    const Tensor<double>& heads = at(from);
    if (!at.has_model() || !at.deberta().config().talking_head) return heads;
    const Index count = heads.extent(1);
    const Matrix<double>& mixing =
        at.deberta().matrix(layer_name(at, (std::string("attention.self.") + weight).c_str()), {count, count});
    return each_head(heads, heads.extent(2), heads.extent(3), [&](Index, Index h, Index b) {
        Matrix<double> sum = Matrix<double>::Zero(heads.extent(2), heads.extent(3));
        for (Index from_head = 0; from_head < count; ++from_head)
            sum += mixing(h, from_head) * heads.matrix(b * count + from_head);
        return sum;
    });
}

Tensor<double> normed_sum(const Replay& at, const Matrix<double>& x, const Tensor<double>& residual, const char* norm) {
    const auto& weights = at.deberta();
    return shaped(residual, layer_norm<double>(x + Matrix<double>(residual.rows()), weights.norm(layer_name(at, norm)),
                                               weights.config().layer_norm_eps));
}

Tensor<double> decoder_query(const Replay& at) {
    const Tensor<double>& h = hidden_state(at, 2);
    return sum_of(absolute_rows(at, h), h);
}

}  // namespace

std::vector<Formula> deberta_formulas() {
    std::vector<Formula> all = {
        {"/relative.index", {}, index_of},
        {"/relative.table", {}, table_of},
        {"q", {"x_q"}, [](const Replay& at) { return projected(at, "x_q", 0); }},
        {"k", {"x"}, [](const Replay& at) { return projected(at, "x", 1); }},
        {"v", {"x"}, [](const Replay& at) { return projected(at, "x", 2); }},
        {"q_r",
         {"/relative.table"},
         [](const Replay& at) {
             return table_heads(at, at("/relative.table"), at.deberta().position_query(at.layer()));
         }},
        {"k_r",
         {"/relative.table"},
         [](const Replay& at) {
             return table_heads(at, at("/relative.table"), at.deberta().position_key(at.layer()));
         }},
        {"c2c", {"q", "k"}, [](const Replay& at) { return products(at("q"), at("k")); }},
        {"c2p",
         {"q", "k_r", "/relative.index"},
         [](const Replay& at) { return gathered_by_query(at.table_products("q", "k_r"), at("/relative.index")); }},
        {"p2c",
         {"k", "q_r", "/relative.index"},
         [](const Replay& at) { return gathered_by_key(at.table_products("k", "q_r"), at("/relative.index")); }},
        {"scores", {"c2c", "c2p", "p2c"}, sum_of_terms},
        {"scores_mixed", {"scores"}, [](const Replay& at) { return mixed(at, "scores", "head_logits_proj.weight"); }},
        {"probs",
         {"scores", "scores_mixed"},
         [](const Replay& at) { return masked_probabilities(at, "scores_mixed"); }},
        {"probs_mixed", {"probs"}, [](const Replay& at) { return mixed(at, "probs", "head_weights_proj.weight"); }},
        {"context", {"probs", "probs_mixed", "v"}, [](const Replay& at) { return joined_context(at, "probs_mixed"); }},
        {"attention",
         {"context", "x_q"},
         [](const Replay& at) {
             return normed_sum(
                 at, dense<double>(at("context").rows(), at.deberta().dense(layer_name(at, "attention.output.dense"))),
                 at("x_q"), "attention.output.LayerNorm");
         }},
        {"ffn_act",
         {"attention"},
         [](const Replay& at) {
             const Matrix<double> inner =
                 dense<double>(at("attention").rows(), at.deberta().dense(layer_name(at, "intermediate.dense")));
             return shaped(at("attention"), activate<double>(inner, at.deberta().config().hidden_act));
         }},
        {"ffn",
         {"ffn_act"},
         [](const Replay& at) {
             return shaped(at("ffn_act"),
                           dense<double>(at("ffn_act").rows(), at.deberta().dense(layer_name(at, "output.dense"))));
         }},
        {"output_before_conv",
         {"ffn", "attention"},
         [](const Replay& at) { return normed_sum(at, at("ffn").rows(), at("attention"), "output.LayerNorm"); }},
        {"/emd.query.0", {}, decoder_query},
    };
    for (std::vector<Formula>& more : std::vector{
             deberta_model_formulas(), classifier_formulas(), rtd_formulas(), sift_formulas(),
             deberta_gradient_formulas(), deberta_model_gradient_formulas(), deberta_parameter_gradient_formulas()})
        std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
}

// The right formulas of DeBERTa around its layers: embeddings, convolution, masked words.
// He et al. 2021; microsoft/DeBERTa bert.py, masked_language_model.py.

namespace {

Tensor<double> embeddings_output(const Replay& at) {
    return normed_embeddings(at, embedding_sum(at, at.deberta().config().position_biased_input));
}

Tensor<double> conv_act(const Replay& at) {
    Tensor<double> values = at("conv");
    hide_tokens(at, values);
    return shaped(values, activate<double>(values.rows(), at.deberta().config().conv_act));
}

Tensor<double> layer_output(const Replay& at) {
    // Only layer 0 of a model with a convolution has such a stage beside its output.
    if (!at.has_model() && at.expected("output_before_conv")) throw NotEnough{"the norm of the convolution"};
    if (!at.has_model() || !convolves(at)) return at("output_before_conv");
    Tensor<double> output = merged(at, at("output_before_conv"), at("conv_act"));
    hide_tokens(at, output);  // unlike the norms inside layers
    return output;
}

Tensor<double> what_the_head_reads(const Replay& at) {
    try {
        return at("/emd.1.output");
    } catch (const NotEnough&) {  // no decoder ran
        return at("/layer." + std::to_string(at.deberta().config().num_hidden_layers - 1) + ".output");
    }
}

Tensor<double> transform(const Replay& at) {
    const HeadParts head = head_parts(at);
    const Tensor<double>& x = head_input(at);
    return shaped(x, layer_norm<double>(activate<double>(dense<double>(x.rows(), head.dense), head.activation),
                                        head.norm, head.eps));
}

}  // namespace

std::vector<Formula> deberta_model_formulas() {
    return {
        {"/embeddings.word",
         {},
         [](const Replay& at) { return rows_of_tokens(at, "embeddings.word_embeddings.weight"); }},
        {"/embeddings.output", {"/embeddings.word"}, embeddings_output},
        {"conv", {"/embeddings.output"}, [](const Replay& at) { return convolved(at, at("/embeddings.output")); }},
        {"conv_act", {"conv"}, conv_act},
        {"output", {"output_before_conv", "conv_act"}, layer_output},
        {"/head_input", {"/emd.1.output"}, what_the_head_reads},  // never reported; links decoder and head
        {"/mlm.transform", {"/head_input"}, transform},
        {"/mlm.logits",
         {"/mlm.transform"},
         [](const Replay& at) { return word_scores(at, "/mlm.logits", at("/mlm.transform"), head_parts(at).bias); }},
        {"/mlm.transform_at_positions",
         {"/mlm.transform"},
         [](const Replay& at) { return at_positions(at, at("/mlm.transform")); }},
        {"/mlm.logits_at_positions",
         {"/mlm.transform_at_positions"},
         [](const Replay& at) {
             return word_scores(at, "/mlm.logits_at_positions", at("/mlm.transform_at_positions"), head_parts(at).bias);
         }},
        {"/mlm.loss", {"/mlm.logits"}, [](const Replay& at) { return losses(at, at("/mlm.logits"), false); }},
    };
}

// The steps outside attention, which wrong formulas are made of too.

namespace {

bool is_roformer(const Replay& at) { return at.model().family == Family::roformer; }

}  // namespace

Matrix<double> embedding_rows(const Replay& at, bool with_positions) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    const ModelInput& input = at.input();
    Matrix<double> rows = at("/embeddings.word").rows();
    if (rows.rows() != input.batch() * input.length() || rows.cols() != config.embedding_size)
        throw NotEnough{"embeddings.word, a row for each token"};
    if (config.type_vocab_size > 0) {
        const Matrix<double>& types =
            weights.matrix("embeddings.token_type_embeddings.weight", {config.type_vocab_size, config.embedding_size});
        for (Index n = 0; n < rows.rows(); ++n)
            rows.row(n) += types.row(input.token_types.empty() ? 0 : input.token_types[n]);
    }
    if (with_positions) {
        if (!weights.has_absolute_table()) throw NotEnough{"an absolute table"};
        const Matrix<double> positions = weights.absolute_rows(input.length());
        for (Index b = 0; b < input.batch(); ++b) rows.middleRows(b * input.length(), input.length()) += positions;
    }
    return rows;
}

Matrix<double> embedding_sum(const Replay& at, bool with_positions) {
    const DebertaConfig& config = at.deberta().config();
    const Matrix<double> rows = embedding_rows(at, with_positions);
    return config.embedding_size == config.hidden_size
               ? rows
               : dense<double>(rows, at.deberta().dense("embeddings.embed_proj"));
}

Tensor<double> normed_embeddings(const Replay& at, const Matrix<double>& sum) {
    const auto& weights = at.deberta();
    Tensor<double> output = shaped(at("/embeddings.word"), layer_norm<double>(sum, weights.norm("embeddings.LayerNorm"),
                                                                              weights.config().layer_norm_eps));
    hide_tokens(at, output);  // after the norm, so that a hidden token is exactly 0
    return output;
}

void hide_tokens(const Replay& at, Tensor<double>& values) {
    const Matrix<double> visible = visible_tokens<double>(at.input());
    if (visible.size() > 0 && visible.size() != values.rows().rows()) throw NotEnough{"a mask of this shape"};
    for (Index n = 0; n < visible.size(); ++n) values.rows().row(n) *= visible.data()[n];
}

bool convolves(const Replay& at) { return at.scope() == "layer.0." && at.deberta().config().conv_kernel_size > 0; }

void need_convolution(const Replay& at) {
    if (!convolves(at)) throw NotEnough{"a convolution"};
}

Tensor<double> table_heads(const Replay& at, const Tensor<double>& table, const Dense<double>& projection) {
    const Tensor<double> split = project_heads<double>({{1, table.extent(0), table.extent(1)}, table.values()},
                                                       projection, at.deberta().config().num_attention_heads);
    return {{split.extent(1), split.extent(2), split.extent(3)}, split.values()};
}

Tensor<double> convolved(const Replay& at, const Tensor<double>& x) {
    need_convolution(at);
    return convolved_with(x, at.deberta().convolution());
}

Tensor<double> convolved_with(const Tensor<double>& x, const Convolution<double>& layer) {
    Tensor<double> y(x.shape());
    for (Index b = 0; b < x.extent(0); ++b) y.matrix(b) = convolve<double>(x.matrix(b), layer);
    return y;
}

Tensor<double> merged(const Replay& at, const Tensor<double>& base, const Tensor<double>& addend) {
    need_convolution(at);
    return shaped(base, layer_norm<double>(sum_of(base, addend).rows(), at.deberta().norm("encoder.conv.LayerNorm"),
                                           at.deberta().config().layer_norm_eps));
}

const Tensor<double>& head_input(const Replay& at) {
    if (!is_roformer(at)) return at("/head_input");
    return at("/layer." + std::to_string(at.roformer().num_hidden_layers - 1) + ".output");
}

OutputLayer output_of(const Replay& at) {
    if (!is_roformer(at)) return at.deberta().head_output();
    return output_layer(at.model().weights, at.roformer().tied_output, "cls.predictions.bias");
}

HeadParts head_parts(const Replay& at) {
    if (is_roformer(at)) {
        const RoformerConfig& config = at.roformer();
        const auto& weights = at.model().weights;
        const std::string head = "cls.predictions.";
        if (!weights.has(head + "bias")) throw NotEnough{"a masked-word head"};
        return {weights.dense(head + "transform.dense", config.embedding_size, config.hidden_size),
                weights.norm(head + "transform.LayerNorm", config.embedding_size),
                weights.vector(output_of(at).bias, config.vocab_size), config.hidden_act, config.layer_norm_eps};
    }
    const auto& weights = at.deberta();
    if (weights.head_dense().empty()) throw NotEnough{"a masked-word head"};
    return {weights.dense(weights.head_dense()), weights.norm(weights.head_norm()), weights.head_bias(),
            weights.config().hidden_act, weights.config().layer_norm_eps};
}

Tensor<double> word_scores(const Replay& at, const std::string& stem, const Tensor<double>& x,
                           const RowVector<double>& bias) {
    const Index words = is_roformer(at) ? at.roformer().vocab_size : at.deberta().config().vocab_size;
    return logits_of(at, stem, x, x.rows(), {output_of(at).table, words, bias});
}

Tensor<double> at_positions(const Replay& at, const Tensor<double>& values) {
    const ModelInput& input = at.input();
    const IndexTensor& wanted = input.mask_positions;
    if (wanted.empty()) throw NotEnough{"the positions of masked tokens"};
    Matrix<double> rows(wanted.extent(0), values.extent(2));
    for (Index n = 0; n < rows.rows(); ++n) {
        const Index b = wanted[2 * n], t = wanted[2 * n + 1];
        if (b < 0 || b >= values.extent(0) || t < 0 || t >= values.extent(1)) throw NotEnough{"a token there"};
        rows.row(n) = values.matrix(b).row(t);
    }
    return as_tensor<double>({rows.rows(), rows.cols()}, rows);
}

Tensor<double> losses(const Replay& at, const Tensor<double>& logits, bool unlabelled_too) {
    const IndexTensor& labels = at.input().labels;
    if (labels.empty() || labels.size() != logits.rows().rows()) throw NotEnough{"labels"};
    std::vector<double> each;
    for (Index n = 0; n < labels.size(); ++n)
        if (unlabelled_too || labels[n] > 0) each.push_back(cross_entropy<double>(logits.rows().row(n), labels[n]));
    const auto count = static_cast<Index>(each.size());
    return {{count}, std::move(each)};
}

// The enhanced mask decoder.  microsoft/DeBERTa masked_language_model.py.

namespace {

std::string scope_of_pass(Index pass) { return "emd." + std::to_string(pass) + "."; }

bool replaces(const std::vector<Formula>& formulas, const std::string& stem) {
    return std::any_of(formulas.begin(), formulas.end(), [&](const Formula& each) { return each.stem == stem; });
}

}  // namespace

Index decoder_pass(const Replay& at) {
    if (!at.scope().starts_with("emd.")) throw NotEnough{"a pass of the mask decoder"};
    return number_in_name(at.scope(), 4);
}

const Tensor<double>& hidden_state(const Replay& at, Index from_the_end) {
    const Index layer = at.deberta().config().num_hidden_layers - from_the_end;
    if (layer < -1) throw NotEnough{"so many layers"};
    return at(layer < 0 ? "/embeddings.output" : "/layer." + std::to_string(layer) + ".output");
}

Tensor<double> absolute_rows(const Replay& at, const Tensor<double>& h) {
    const auto& weights = at.deberta();
    const DebertaConfig& config = weights.config();
    if (!weights.has_absolute_table() || config.position_biased_input || config.embedding_size != h.extent(2))
        throw NotEnough{"a mask decoder"};
    const Matrix<double> table = weights.absolute_rows(h.extent(1));
    Tensor<double> rows(h.shape());
    for (Index b = 0; b < h.extent(0); ++b) rows.matrix(b) = table;
    return rows;
}

Tensor<double> key_or_value(const Replay& at, const Tensor<double>& x, int part) {
    return project_heads<double>(x, at.deberta().projection(at.layer(), part),
                                 at.deberta().config().num_attention_heads);
}

std::vector<Formula> decoder_of(std::vector<Formula> wrong, Index passes) {
    if (!replaces(wrong, "x_q"))
        wrong.push_back({"x_q", {"/emd.query.0"}, [](const Replay& at) {
                             const Index pass = decoder_pass(at);
                             return pass == 0 ? at("/emd.query.0") : at.elsewhere(scope_of_pass(pass - 1))("output");
                         }});
    wrong.push_back({"/head_input", {"/emd.query.0"}, [passes](const Replay& at) {
                         return at.elsewhere(scope_of_pass(passes - 1))("output");
                     }});
    return wrong;
}

std::vector<Formula> keys_and_values_from(std::function<Tensor<double>(const Replay&)> source) {
    return {{"k", {"x", "x_q"}, [source](const Replay& at) { return key_or_value(at, source(at), 1); }},
            {"v", {"x", "x_q"}, [source](const Replay& at) { return key_or_value(at, source(at), 2); }}};
}

}  // namespace locus::conformance
