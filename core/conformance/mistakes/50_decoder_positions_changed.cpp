#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/formulas/decoder_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// emd.query.0 = change(I) + h.
std::vector<Formula> query_of(std::function<Tensor<double>(const Replay&, Tensor<double>)> change) {
    return decoder_of({{"/emd.query.0", {}, [change](const Replay& at) {
                            const Tensor<double>& h = hidden_state(at, 2);
                            return sum_of(change(at, absolute_rows(at, h)), h);
                        }}});
}

Tensor<double> normed_rows(const Replay& at, const Tensor<double>& rows, const Norm<double>& norm) {
    return shaped(rows, layer_norm<double>(rows.rows(), norm, at.deberta().config().layer_norm_eps));
}

Tensor<double> masked(const Replay& at, Tensor<double> rows) {
    hide_tokens(at, rows);
    return rows;
}

/// The n-th call with one tensor that every call adds h to.
std::vector<Formula> call(Index n) {
    return query_of([n](const Replay& at, Tensor<double> rows) {
        for (Index before = 1; before < n; ++before) rows = sum_of(std::move(rows), hidden_state(at, 2));
        return rows;
    });
}

}  // namespace

Mistake mistake_50() {
    const auto embeddings_norm = [](const Replay& at) { return at.deberta().norm("embeddings.LayerNorm"); };
    return {
        .number = 50,
        .name = "the absolute rows of the mask decoder are normed, masked or added to in place",
        .symptom = "emd.query.0 is wrong; in place: the second call differs from the first",
        .betrays = "emd.query.0 - h is not the raw rows of the absolute table",
        .evidence = "microsoft/DeBERTa masked_language_model.py: z_states += hidden_states",
        .lesson = "13",
        .families = {Family::deberta},
        .stems = {"/emd.query.0"},
        .variants = {
            {"normed, without weights",
             query_of([](const Replay& at, const Tensor<double>& rows) { return normed_rows(at, rows, {}); })},
            {"normed as the embeddings are", query_of([=](const Replay& at, const Tensor<double>& rows) {
                 return normed_rows(at, rows, embeddings_norm(at));
             })},
            {"masked", query_of(masked)},
            {"normed as the embeddings are, and masked", query_of([=](const Replay& at, const Tensor<double>& rows) {
                 return masked(at, normed_rows(at, rows, embeddings_norm(at)));
             })},
            {"added to in place, second call", call(2)},
            {"added to in place, third call", call(3)}}};
}

}  // namespace locus::conformance
