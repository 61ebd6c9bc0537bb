#include <algorithm>

#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Row p is what row(b, token) makes of the right start.
template <class Row>
Tensor<double> changed_start(const Replay& at, Row row) {
    if (!at.is_query_stream()) throw NotEnough{"the query stream"};
    const Tensor<double>& tokens = at("query_tokens");
    Tensor<double> start = at.right("/query_stream");
    for (Index b = 0; b < start.extent(0); ++b)
        for (Index p = 0; p < start.extent(1); ++p)
            row(b, std::max<Index>(0, static_cast<Index>(tokens.matrix()(b, p))), start.matrix(b).row(p));
    return start;
}

Tensor<double> words(const Replay& at) {
    const Tensor<double>& words = at("/embeddings.word");
    return changed_start(at, [&](Index b, Index token, auto row) { row = words.matrix(b).row(token); });
}

Tensor<double> with_positions(const Replay& at) {
    std::vector<double> places;
    for (Index t = 0; t < queries_of(at); ++t) places.push_back(static_cast<double>(t));
    const Tensor<double> sinusoids = sinusoids_of(at, places, SinusoidLayout::concatenated);
    return changed_start(at, [&](Index, Index token, auto row) { row += sinusoids.matrix().row(token); });
}

}  // namespace

Mistake mistake_74() {
    return {.number = 74,
            .name = "the query stream starts from more than the one trained vector",
            .symptom = "the loss is too good: the word that must be predicted is already in the query",
            .betrays = "layer.0.g.q differs between targets; the right one has equal rows",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"q"},
            .variants = {{"from the word itself", {{"/query_stream", {"/embeddings.word", "query_tokens"}, words}}},
                         {"a position vector is added", {{"/query_stream", {"query_tokens"}, with_positions}}}}};
}

}  // namespace locus::conformance
