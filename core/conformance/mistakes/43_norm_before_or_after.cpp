#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/formulas/layer_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

void need(const Replay& at, bool first) {
    if (norm_first(at) != first) throw NotEnough{"a layer with its norms elsewhere"};
}

Tensor<double> normed(const Replay& at, const Tensor<double>& x, const Norm<double>& norm) {
    const double eps = norm_eps_of(at);
    return shaped(x, normed_by(x.rows(), norm, [&](double variance) { return std::sqrt(variance + eps); }));
}

/// What queries (part 0), keys and values are made of; those of a model with memory see it too.
Tensor<double> source(const Replay& at, int part) {
    if (part == 0) return at("x_q");
    const bool remembers = at.family() == Family::transformer_xl || at.family() == Family::xlnet;
    return remembers ? behind_memory_of(at) : at("x");
}

/// q, k or v of x as it is, or behind the layer's first norm.
Formula projection(const char* stem, int part, bool norm) {
    return {stem, {part == 0 ? "x_q" : "x"}, [=](const Replay& at) {
                need(at, !norm);
                const Tensor<double> x = source(at, part);
                return project_heads<double>(norm ? normed(at, x, attention_norm_of(at)) : x, projection_of(at, part),
                                             heads_of(at));
            }};
}

Formula feed_forward(bool norm) {
    return {"ffn_act", {"attention"}, [=](const Replay& at) {
                need(at, !norm);
                const Tensor<double> x = norm ? normed(at, at("attention"), ffn_norm_of(at)) : at("attention");
                return shaped(x, activate<double>(dense<double>(x.rows(), ffn_dense_of(at)), activation_of(at)));
            }};
}

/// x + f(norm(x)), twice, with the norms that the checkpoint has.
std::vector<Formula> norms_first(bool table_too) {
    std::vector<Formula> all = {projection("q", 0, true),
                                projection("k", 1, true),
                                projection("v", 2, true),
                                {"attention",
                                 {"context", "x_q"},
                                 [](const Replay& at) {
                                     need(at, false);
                                     return attention_sum(at, at("x_q"));
                                 }},
                                feed_forward(true)};
    for (Formula& formula : output_by([](const Replay& at) {
             need(at, false);
             return output_sum(at);
         }))
        all.push_back(std::move(formula));
    if (!table_too) return all;
    for (const bool key : {false, true})
        all.push_back({key ? "k_r" : "q_r", {"/relative.table"}, [key](const Replay& at) {
                           const Tensor<double> table = normed(at, at("/relative.table"), attention_norm_of(at));
                           const auto& weights = at.deberta();
                           const Tensor<double> split = project_heads<double>(
                               {{1, table.extent(0), table.extent(1)}, table.values()},
                               key ? weights.position_key(at.layer()) : weights.position_query(at.layer()),
                               heads_of(at));
                           return Tensor<double>({split.extent(1), split.extent(2), split.extent(3)}, split.values());
                       }});
    return all;
}

/// x + norm(f(x)): behind, but before the residual joins.
std::vector<Formula> norms_inside() {
    std::vector<Formula> all = {{"attention", {"context", "x_q"}, [](const Replay& at) {
                                     need(at, false);
                                     const Tensor<double> f =
                                         shaped(at("x_q"), dense<double>(at("context").rows(), attention_dense_of(at)));
                                     return sum_of(normed(at, f, attention_norm_of(at)), at("x_q"));
                                 }}};
    for (Formula& formula : output_by([](const Replay& at) {
             need(at, false);
             return sum_of(normed(at, at("ffn"), ffn_norm_of(at)), at("attention"));
         }))
        all.push_back(std::move(formula));
    return all;
}

/// norm(x + f(x)) where the configuration says norms first.
std::vector<Formula> norms_behind() {
    std::vector<Formula> all = {projection("q", 0, false),
                                projection("k", 1, false),
                                projection("v", 2, false),
                                {"attention",
                                 {"context", "x_q"},
                                 [](const Replay& at) {
                                     need(at, true);
                                     return normed(at, attention_sum(at, at("x_q")), attention_norm_of(at));
                                 }},
                                feed_forward(false)};
    for (Formula& formula : output_by([](const Replay& at) {
             need(at, true);
             return normed(at, output_sum(at), ffn_norm_of(at));
         }))
        all.push_back(std::move(formula));
    return all;
}

}  // namespace

Mistake mistake_43() {
    return {.number = 43,
            .name = "the norms stand before the sublayers instead of behind them, or the other way round",
            .symptom = "the output of a layer does not have unit variance; its size grows from layer to layer",
            .betrays = "(output - bias) / weight has mean 0 and variance 1 per row only with the norm behind",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta, Family::roformer, Family::transformer_xl, Family::xlnet},
            .stems = {"q", "k", "v", "q_r", "k_r", "attention", "output_before_conv", "output"},
            .variants = {{"in front of both sublayers", norms_first(false)},
                         {"in front of both sublayers, the first one for the relative table too", norms_first(true)},
                         {"behind the sublayer, before the residual joins", norms_inside()},
                         {"behind, where the configuration says in front", norms_behind()}}};
}

}  // namespace locus::conformance
