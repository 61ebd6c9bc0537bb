#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Behind the last layer Transformer-XL keeps what nobody reads; nothing comes after that.
Tensor<double> outputs_kept(const Replay& at) {
    const bool behind_all = at.family() == Family::transformer_xl && at.layer() == at.transformer_xl().n_layer;
    return handed_on(at, behind_all ? at("x") : at("output"));
}

}  // namespace

Mistake mistake_70() {
    return {.number = 70,
            .name = "the memory holds the wrong rows",
            .symptom = "the first segment is right, every later one is not",
            .betrays = "memory.l is the layer's output instead of its input, or begins with the oldest rows",
            .evidence = "transformers #2970, #3580; kimiyoung/transformer-xl #96",
            .lesson = "24",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"memory"},
            .variants = {{"stored behind the layer", {{"memory", {"memory_before", "output"}, outputs_kept}}},
                         {"the oldest rows are kept", {{"memory", {"memory_before", "x"}, [](const Replay& at) {
                                                            return handed_on(at, at("x"), Kept::oldest);
                                                        }}}}}};
}

}  // namespace locus::conformance
