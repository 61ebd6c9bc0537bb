#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/formulas/gradient_parts.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Pairs go back to rows delta(j,i).
Formula transposed_scatter(bool by_query) {
    const std::string pairs = by_query ? "grad.c2p" : "grad.p2c", table = by_query ? "k_r" : "q_r";
    return {by_query ? "scatter.c2p" : "scatter.p2c", {pairs, "/relative.index", table}, [=](const Replay& at) {
                const Tensor<double> turned = transposed(at("/relative.index"));
                const Index rows = at(table).extent(1);
                return by_query ? scattered_by_query(at(pairs), turned, rows)
                                : scattered_by_key(at(pairs), turned, rows);
            }};
}

/// The same for the table alone: what it adds to grad.q or grad.k is right.
Formula transposed_table(bool by_query) {
    const std::string scatter = by_query ? "scatter.c2p" : "scatter.p2c", content = by_query ? "q" : "k";
    return {by_query ? "grad.k_r" : "grad.q_r", {scatter, content}, [=](const Replay& at) {
                return summed_over_samples(at.with({transposed_scatter(by_query)})(scatter), at(content));
            }};
}

/// Of what all samples share, which of them count.
enum class Samples { first, last, mean };

Tensor<double> over(Samples samples, Index batch, const std::function<Tensor<double>(Index begin, Index end)>& sum) {
    if (batch < 2) throw NotEnough{"a second sample"};
    if (samples == Samples::first) return sum(0, 1);
    if (samples == Samples::last) return sum(batch - 1, batch);
    return mapped(sum(0, batch), [batch](double value) { return value / static_cast<double>(batch); });
}

/// sum over samples of weights^T x, with x plus a bias of every head where one is named.
Formula table(const char* stem, const char* weights, const char* x, const char* bias, Samples samples) {
    std::vector<std::string> inputs = {weights, x};
    if (bias) inputs.push_back(bias);
    return {stem, inputs, [=](const Replay& at) {
                const Tensor<double> rows = bias ? biased(at(x), at(bias)) : at(x);
                return over(samples, rows.extent(0),
                            [&](Index begin, Index end) { return summed_over_samples(at(weights), rows, begin, end); });
            }};
}

Formula bias(const char* stem, const char* weights, const char* x, Samples samples) {
    return {stem, {weights, x}, [=](const Replay& at) {
                const Tensor<double> rows =
                    at(x).rank() == 3 ? weighted_rows(at(weights), at(x)) : times(at(weights), at(x));
                return over(samples, rows.extent(0),
                            [&](Index begin, Index end) { return summed_over_rows(rows, begin, end); });
            }};
}

std::vector<Variant> gradient_of_the_table() {
    std::vector<Variant> all = {{"grad.q_r from delta(j,i)", {transposed_table(false)}},
                                {"grad.q_r and grad.k from delta(j,i)", {transposed_scatter(false)}},
                                {"grad.k_r from delta(j,i)", {transposed_table(true)}},
                                {"grad.k_r and grad.q from delta(j,i)", {transposed_scatter(true)}}};
    for (const auto& [samples, how] : {std::pair{Samples::first, "only the first sample"},
                                       {Samples::last, "only the last sample"},
                                       {Samples::mean, "the mean over samples instead of their sum"}})
        for (const Formula& formula :
             {table("grad.q_r", "scatter.p2c", "k", nullptr, samples),
              table("grad.k_r", "scatter.c2p", "q", nullptr, samples),
              table("grad.r_k", "grad.bd_raw", "q", "bias.v", samples), bias("grad.bias.u", "grad.ac", "k", samples),
              bias("grad.bias.v", "grad.bd_raw", "r_k", samples)})
            all.push_back({std::string(how) + " in " + formula.stem, {formula}});
    return all;
}

}  // namespace

Mistake mistake_79() {
    return {.number = 79,
            .name = "what all samples share collects from delta(j,i), or not from every sample",
            .symptom = "finite differences fail for the relative table alone",
            .betrays = "rows that no pair reads have gradient 0; the gradient of a batch is the sum of its samples'",
            .evidence = "",
            .lesson = "09",
            .families = {Family::deberta, Family::transformer_xl},
            .stems = {"grad.q_r", "grad.k_r", "grad.k", "grad.q", "grad.r_k", "grad.bias.u", "grad.bias.v"},
            .variants = gradient_of_the_table()};
}

}  // namespace locus::conformance
