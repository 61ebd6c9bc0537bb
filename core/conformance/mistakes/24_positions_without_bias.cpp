#include "core/conformance/diagnosis/fitted_projection.h"
#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// A right projection of the table less its bias.
Tensor<double> without_bias(const Replay& at, const char* stem, const Dense<double>& projection) {
    if (projection.bias.size() == 0) throw NotEnough{"a bias of the position projection"};
    Tensor<double> heads = at.right(stem);
    const Matrix<double> bias = by_head(projection.bias, heads.extent(0));
    for (Index h = 0; h < heads.extent(0); ++h) heads.matrix(h).rowwise() -= bias.row(h);
    return heads;
}

Formula bare_keys() {
    return {"k_r", {"/relative.table"}, [](const Replay& at) {
                return without_bias(at, "k_r", at.deberta().position_key(at.layer()));
            }};
}

Formula bare_queries() {
    return {"q_r", {"/relative.table"}, [](const Replay& at) {
                return without_bias(at, "q_r", at.deberta().position_query(at.layer()));
            }};
}

Formula never_loaded(const char* stem) {
    return {stem, {"/relative.table"}, [stem](const Replay& at) { return fitted_projection(at, stem); }};
}

}  // namespace

Mistake mistake_24() {
    return {.number = 24,
            .name =
                "the relative table is projected without the biases of the projections it shares, or by a projection "
                "that no file holds",
            .symptom = "c2p and p2c look random",
            .betrays = "k_r differs from the right one by b_k in every row",
            .evidence = "microsoft/DeBERTa #136",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"q_r", "k_r"},
            .variants = {{"neither has its bias", {bare_queries(), bare_keys()}},
                         {"position queries alone", {bare_queries()}},
                         {"position keys alone", {bare_keys()}},
                         {"position queries by a projection that no file holds", {never_loaded("q_r")}},
                         {"position keys by a projection that no file holds", {never_loaded("k_r")}}}};
}

}  // namespace locus::conformance
