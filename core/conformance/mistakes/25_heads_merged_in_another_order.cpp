#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// [B,H,T,d] from the joined context.
Tensor<double> context_heads(const Replay& at) { return split_heads(at.right("context"), at("v").extent(1)); }

/// Channel c H + h instead of h d + c.
Tensor<double> channels_first(const Replay& at) {
    const Tensor<double> heads = context_heads(at);
    const Index count = heads.extent(1), width = heads.extent(3);
    Tensor<double> joined({heads.extent(0), heads.extent(2), count * width});
    for (Index b = 0; b < heads.extent(0); ++b)
        for (Index h = 0; h < count; ++h)
            for (Index c = 0; c < width; ++c) joined.matrix(b).col(c * count + h) = heads.matrix(b * count + h).col(c);
    return joined;
}

/// Memory of [H,T,d] read as [T,H d].
Tensor<double> not_turned(const Replay& at) {
    const Tensor<double> heads = context_heads(at);
    return {{heads.extent(0), heads.extent(2), heads.extent(1) * heads.extent(3)}, heads.values()};
}

}  // namespace

Mistake mistake_25() {
    return {.number = 25,
            .name = "heads are merged as [T,d,H] instead of [T,H,d]",
            .symptom = "the channels of the context are permuted",
            .betrays = "context is right after the channels are permuted from (d,H) to (H,d)",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"context"},
            .variants = {{"channels before heads", {{"context", {"probs", "v"}, channels_first}}},
                         {"heads before tokens, never turned", {{"context", {"probs", "v"}, not_turned}}}}};
}

}  // namespace locus::conformance
