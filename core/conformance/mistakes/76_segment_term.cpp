#include "core/conformance/diagnosis/relative.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Tensor<double> memory_of_segment_one(const Replay& at) {
    if (at.remembered() == 0) throw NotEnough{"a memory"};
    return segment_term_by(at, 1, 0);
}

}  // namespace

Mistake mistake_76() {
    const std::vector<std::string> inputs = {"q", "bias.s", "query_tokens"};
    return {.number = 76,
            .name = "the segment term takes the wrong row or the wrong bias",
            .symptom = "sentence pairs are told apart the wrong way round; with one segment only a constant is off",
            .betrays = "with a single segment ef must use row 0 of seg_embed alone; memory has segment 0",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"ef"},
            .variants = {{"same and different exchanged",
                          {{"ef", inputs, [](const Replay& at) { return segment_term_by(at, 0, 1); }}}},
                         {"memory has segment 1", {{"ef", inputs, memory_of_segment_one}}},
                         {"r_s_bias is not added to q", {{"bias.s", {}, [](const Replay& at) {
                                                              return mapped(at.right("bias.s"),
                                                                            [](double) { return 0.0; });
                                                          }}}}}};
}

}  // namespace locus::conformance
