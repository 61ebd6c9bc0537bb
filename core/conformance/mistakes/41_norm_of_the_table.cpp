#include "core/conformance/mistakes/mistakes.h"
#include "core/models/deberta_weights.h"

namespace locus::conformance {

namespace {

bool has_norm(const Replay& at) { return at.deberta().config().norm_rel_ebd; }

Matrix<double> raw(const Replay& at) {
    const DebertaConfig& config = at.deberta().config();
    return at.deberta().matrix("encoder.rel_embeddings.weight", {2 * config.span(), config.hidden_size});
}

Matrix<double> normed(const Replay& at, const Matrix<double>& table, Index times) {
    if (!has_norm(at)) throw NotEnough{"a norm on the relative table"};
    Matrix<double> rows = table;
    for (Index n = 0; n < times; ++n)
        rows = layer_norm<double>(rows, at.deberta().norm("encoder.LayerNorm"), at.deberta().config().layer_norm_eps);
    return rows;
}

Tensor<double> as_stage(const Matrix<double>& rows) { return as_tensor<double>({rows.rows(), rows.cols()}, rows); }

/// q_r and k_r of a table that only the layer knows.
std::vector<Formula> table_of_the_layer(std::function<Matrix<double>(const Replay&)> table) {
    const auto heads = [table](const Replay& at, const Dense<double>& projection) {
        const Matrix<double> rows = table(at);
        const Tensor<double> split = project_heads<double>(as_tensor<double>({1, rows.rows(), rows.cols()}, rows),
                                                           projection, at.deberta().config().num_attention_heads);
        return Tensor<double>({split.extent(1), split.extent(2), split.extent(3)}, split.values());
    };
    return {{"q_r",
             {"/relative.table"},
             [heads](const Replay& at) { return heads(at, at.deberta().position_query(at.layer())); }},
            {"k_r", {"/relative.table"}, [heads](const Replay& at) {
                 return heads(at, at.deberta().position_key(at.layer()));
             }}};
}

}  // namespace

Mistake mistake_41() {
    return {.number = 41,
            .name = "the relative table's norm is missing, or there is one too many",
            .symptom = "c2p and p2c have the wrong size; c2c is right",
            .betrays = "relative.table == the raw rows (missing), or its rows have mean 0 and variance 1 (version 1)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"/relative.table", "q_r", "k_r"},
            .variants = {{"missing",
                          {{"/relative.table",
                            {},
                            [](const Replay& at) {
                                if (!has_norm(at)) throw NotEnough{"a norm on the relative table"};
                                return as_stage(raw(at));
                            }}}},
                         {"applied where the configuration has none",
                          {{"/relative.table",
                            {},
                            [](const Replay& at) {
                                if (has_norm(at)) throw NotEnough{"a raw table"};
                                return as_stage(layer_norm<double>(raw(at), {}, at.deberta().config().layer_norm_eps));
                            }}}},
                         {"applied a second time in every layer", table_of_the_layer([](const Replay& at) {
                              return normed(at, at("/relative.table").matrix(), 1);
                          })},
                         {"applied once more from layer to layer", table_of_the_layer([](const Replay& at) {
                              return normed(at, at("/relative.table").matrix(), at.layer());
                          })}}};
}

}  // namespace locus::conformance
