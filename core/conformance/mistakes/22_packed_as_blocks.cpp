#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// part 0 q, 1 k, 2 v: rows [part D, (part + 1) D) of in_proj, which really holds d of q, k and v head by head.
Tensor<double> block_projected(const Replay& at, const char* from, int part) {
    require_version_1(at);
    const auto& weights = at.deberta();
    const Index width = weights.config().hidden_size;
    const Matrix<double>& packed =
        weights.matrix(layer_prefix(at.layer()) + "attention.self.in_proj.weight", {3 * width, width});
    const Dense<double> block{packed.middleRows(part * width, width), weights.projection(at.layer(), part).bias};
    return project_heads<double>(at(from), block, weights.config().num_attention_heads);
}

}  // namespace

Mistake mistake_22() {
    return {.number = 22,
            .name = "the packed in_proj of version 1 is read as three blocks [Q; K; V] instead of head by head",
            .symptom = "everything is wrong from layer 0 on, with plausible norms",
            .betrays = "q is right in head 0 alone; its other heads are rows of k and v",
            .evidence = "",
            .lesson = "12",
            .families = {Family::deberta},
            .stems = {"q", "k", "v"},
            .variants = {{"",
                          {{"q", {"x_q"}, [](const Replay& at) { return block_projected(at, "x_q", 0); }},
                           {"k", {"x"}, [](const Replay& at) { return block_projected(at, "x", 1); }},
                           {"v", {"x"}, [](const Replay& at) { return block_projected(at, "x", 2); }}}}}};
}

}  // namespace locus::conformance
