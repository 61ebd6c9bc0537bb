#include "core/conformance/formulas/deberta_parts.h"
#include "core/conformance/formulas/sift_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// A gradient of 0, as padding has it, goes nowhere.
double over(double entry, double divisor) { return entry == 0 ? 0 : entry / divisor; }

double largest(const Matrix<double>& part) { return part.cwiseAbs().maxCoeff(); }
double length(const Matrix<double>& part) { return part.norm(); }

/// Parts of `rows` tokens each divided by a size of their own; 0: all tokens are one part.
SiftDirection divided_by_size(double (*size)(const Matrix<double>&), Index rows, double eps) {
    return [=](const Tensor<double>& grad) {
        const Index tokens = grad.rows().rows(), step = rows == 0 ? tokens : rows < 0 ? grad.extent(1) : rows;
        Tensor<double> direction(grad.shape());
        for (Index first = 0; first < tokens; first += step) {
            const Matrix<double> part = grad.rows().middleRows(first, step);
            const double divisor = eps + size(part);
            direction.rows().middleRows(first, step) =
                part.unaryExpr([&](double entry) { return over(entry, divisor); });
        }
        return direction;
    };
}

constexpr Index kToken = 1, kSample = -1, kBatch = 0;

Variant step(std::string how, SiftDirection direction) {
    return {
        std::move(how),
        {{"/sift.delta", {"/sift.delta0", "/sift.grad"}, [=](const Replay& at) { return sift_step(at, direction); }}}};
}

Tensor<double> embedding_rows(const Replay& at) {
    return shaped(at("/embeddings.word"), embedding_sum(at, at.deberta().config().position_biased_input));
}

/// What the embeddings' own norm gives, weights and all.
Tensor<double> embedding_behind_norm(const Replay& at, bool masked) {
    const auto& weights = at.deberta();
    Tensor<double> rows = embedding_rows(at);
    rows.rows() =
        layer_norm<double>(rows.rows(), weights.norm("embeddings.LayerNorm"), weights.config().layer_norm_eps);
    if (masked) hide_tokens(at, rows);
    return rows;
}

Variant behind_norm(std::string how, bool masked) {
    std::vector<Formula> formulas = sift_answer_formulas(true);
    formulas.push_back(
        {"/sift.xhat", {"/embeddings.word"}, [masked](const Replay& at) { return embedding_behind_norm(at, masked); }});
    return {std::move(how), std::move(formulas)};
}

double true_divergence(const RowVector<double>& s, const RowVector<double>& t) {
    return cross_entropy_of(t, s) - cross_entropy_of(t, t) + cross_entropy_of(s, t) - cross_entropy_of(s, s);
}

double sign(double entry) { return entry > 0 ? 1 : entry < 0 ? -1 : 0; }

}  // namespace

Mistake mistake_55() {
    return {
        .number = 55,
        .name = "SiFT perturbs something else, normalises its step by something else, or expects a loss of 0",
        .symptom = "training is unstable, or the \"KL\" is off by an amount that equal answers do not explain",
        .betrays = "per token max |delta - delta0| == eta; loss minus the entropies of both rows == true KL + KL",
        .evidence = "microsoft/DeBERTa #145, #85",
        .lesson = "14",
        .families = {Family::deberta},
        .stems = {"/sift.xhat", "/sift.delta", "/sift.loss0", "/sift.loss"},
        .variants = {
            {"noise on the embedding sum, not normed", {{"/sift.xhat", {"/embeddings.word"}, embedding_rows}}},
            behind_norm("noise behind the embeddings' own norm", false),
            behind_norm("noise behind the embeddings' own norm and mask", true),
            step("step over the largest entry of the whole batch", divided_by_size(largest, kBatch, 1e-6)),
            step("step over the largest entry of the sample", divided_by_size(largest, kSample, 1e-6)),
            step("step over the length of the token's gradient", divided_by_size(length, kToken, 1e-6)),
            step("step over the length of the token's gradient, no eps", divided_by_size(length, kToken, 0)),
            step("step over the length of the sample's gradient", divided_by_size(length, kSample, 1e-6)),
            step("step over the length of the sample's gradient, no eps", divided_by_size(length, kSample, 0)),
            step("step over the length of the batch's gradient", divided_by_size(length, kBatch, 1e-6)),
            step("step over the length of the batch's gradient, no eps", divided_by_size(length, kBatch, 0)),
            step("step by the signs of the gradient", [](const Tensor<double>& grad) { return mapped(grad, sign); }),
            step("step by the gradient as it is", [](const Tensor<double>& grad) { return grad; }),
            {"true KL + KL, the entropies taken away", sift_loss_formulas(true_divergence)}}};
}

}  // namespace locus::conformance
