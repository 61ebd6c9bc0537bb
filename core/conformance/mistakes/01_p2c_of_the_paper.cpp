#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_01() {
    return {.number = 1,
            .name = "p2c reads row delta(j,i), as the paper prints it",
            .symptom = "the model works but is less accurate; p2c is wrong everywhere but on its diagonal",
            .betrays = "p2c[i,j] == k_j . q_r[delta(j,i)]",
            .evidence = "nntrainer #3982; microsoft/DeBERTa #47",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"p2c"},
            .variants = {{"", {{"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                                    return gathered_by_key(at.table_products("k", "q_r"),
                                                           transposed(at("/relative.index")));
                                }}}}}};
}

}  // namespace locus::conformance
