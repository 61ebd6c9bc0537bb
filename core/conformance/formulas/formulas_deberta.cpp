// The right formulas of DeBERTa, stage by stage.  He et al. 2021; microsoft/DeBERTa disentangled_attention.py, bert.py.
#include <algorithm>
#include <iterator>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/formulas/decoder_parts.h"
#include "core/conformance/formulas/formulas.h"
#include "core/models/layers.h"

namespace locus::conformance {

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

/// The table through a projection, heads split -> [H,2k,d].
Tensor<double> table_heads(const Replay& at, const Dense<double>& projection) {
    const Tensor<double>& table = at("/relative.table");
    const Tensor<double> split =
        project_heads<double>(Tensor<double>({1, table.extent(0), table.extent(1)}, table.values()), projection,
                              at.deberta().config().num_attention_heads);
    return {{split.extent(1), split.extent(2), split.extent(3)}, split.values()};
}

Tensor<double> sum_of_terms(const Replay& at) {
    // Without a model folder the terms that somebody reports are those there are.
    Terms terms;
    if (at.has_model()) terms = at.deberta().config().terms;
    Tensor<double> sum = at("c2c");
    if (terms.c2p) sum = sum_of(std::move(sum), at("c2p"));
    if (terms.p2c) sum = sum_of(std::move(sum), at("p2c"));
    const double divisor = score_divisor<double>(terms.count(), at("q").extent(3));
    return mapped(std::move(sum), [&](double score) { return score / divisor; });
}

/// Version 1 may mix its heads before the mask and after the softmax (spec 2.9); elsewhere nothing happens here.
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
         [](const Replay& at) { return table_heads(at, at.deberta().position_query(at.layer())); }},
        {"k_r",
         {"/relative.table"},
         [](const Replay& at) { return table_heads(at, at.deberta().position_key(at.layer())); }},
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
    for (std::vector<Formula>& more :
         std::vector{deberta_model_formulas(), rtd_formulas(), sift_formulas(), deberta_gradient_formulas()})
        std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
}

}  // namespace locus::conformance
