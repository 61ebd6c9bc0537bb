#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

const IndexTensor& mapping_of(const Replay& at) {
    if (!at.is_query_stream() || at.input().target_mapping.empty()) throw NotEnough{"the query stream"};
    return at.input().target_mapping;
}

/// The buffer of [P,T] read as [T,P].
Tensor<double> transposed_targets(const Replay& at) {
    const IndexTensor& mapping = mapping_of(at);
    const Index targets = mapping.extent(1), length = mapping.extent(2);
    Tensor<double> tokens({mapping.extent(0), targets});
    for (Index b = 0; b < mapping.extent(0); ++b)
        for (Index p = 0; p < targets; ++p) {
            tokens.matrix()(b, p) = -1;
            for (Index t = 0; t < length; ++t)
                if (mapping[b * targets * length + t * targets + p] != 0)
                    tokens.matrix()(b, p) = static_cast<double>(t);
        }
    return tokens;
}

Tensor<double> targets_of_first_sample(const Replay& at) {
    mapping_of(at);
    Tensor<double> tokens = at.right("query_tokens");
    if (tokens.extent(0) == 1) throw NotEnough{"a second sample"};
    tokens.matrix().bottomRows(tokens.extent(0) - 1).setConstant(-1);
    return tokens;
}

/// The same layer with the content stream's rows as residual.
Tensor<double> residual_of_content(const Replay& at) {
    mapping_of(at);
    const Tensor<double>&tokens = at("query_tokens"), &h = at("x"), &context = at("context");
    Tensor<double> residual = at("x_q");
    for (Index b = 0; b < residual.extent(0); ++b)
        for (Index p = 0; p < residual.extent(1); ++p)
            if (const auto token = static_cast<Index>(tokens.matrix()(b, p)); token >= 0)
                residual.matrix(b).row(p) = h.matrix(b).row(token);
    return at
        .with({{"x_q", {}, [&](const Replay&) { return residual; }},
               {"context", {}, [&](const Replay&) { return context; }}})
        .right("attention");
}

}  // namespace

Mistake mistake_75() {
    return {.number = 75,
            .name = "rows of the query stream belong to other tokens, or take their residual from h",
            .symptom =
                "the content stream is right, predictions are those of other tokens; "
                "hidden if as many tokens are predicted as there are",
            .betrays = "g.bd equals the right one of another token; g.attention changes with the predicted word",
            .evidence = "transformers #7267, #3417, #3021",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"bd", "attention"},
            .variants = {{"target_mapping read as [T,P]", {{"query_tokens", {}, transposed_targets}}},
                         {"residual from h", {{"attention", {"context", "x", "query_tokens"}, residual_of_content}}},
                         {"only the first sample has targets", {{"query_tokens", {}, targets_of_first_sample}}}}};
}

}  // namespace locus::conformance
