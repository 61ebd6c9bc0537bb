#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_03() {
    return {.number = 3,
            .name = "p2c is gathered with the negated index and the last transpose is missing",
            .symptom = "p2c is mirrored; its diagonal is right",
            .betrays = "p2c equals the transpose of the right p2c",
            .evidence = "nntrainer #3982",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"p2c"},
            .variants = {{"", {{"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                                    return transposed(at.right("p2c"));
                                }}}}}};
}

}  // namespace locus::conformance
