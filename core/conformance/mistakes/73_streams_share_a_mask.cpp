#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// One stream under the mask of the other.
Tensor<double> mask_of_the_other(const Replay& at, bool query_stream) {
    if (at.is_query_stream() != query_stream) throw NotEnough{"the other stream"};
    return visible_to_stream(at, [&](Index b) {
        const TwoStreamMasks masks = two_stream_masks(queries_of(at), hiding_of(at, b));
        return query_stream ? masks.content : masks.query;
    });
}

}  // namespace

Mistake mistake_73() {
    const auto visible = [](bool query_stream) {
        return std::vector<Formula>{{"visible", {"query_tokens"}, [query_stream](const Replay& at) {
                                         return mask_of_the_other(at, query_stream);
                                     }}};
    };
    return {.number = 73,
            .name = "both streams use one mask",
            .symptom =
                "the content stream is blind to its own token, or the query stream sees what it must predict "
                "and the loss falls to 0 at once",
            .betrays = "the diagonal of probs: above 0 in the content stream, 0 in the query stream",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"bd", "probs"},
            .variants = {{"the content stream cannot see itself", visible(false)},
                         {"the query stream sees the answer", visible(true)}}};
}

}  // namespace locus::conformance
