#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_04() {
    return {.number = 4,
            .name = "c2p counts the offset as key minus query, j - i",
            .symptom = "left and right are swapped in c2p alone",
            .betrays = "c2p[i,j] == q_i . k_r[delta(j,i)]; the diagonal is right",
            .evidence = "",
            .lesson = "09",
            .families = {Family::deberta},
            .stems = {"c2p", "/relative.index"},
            .variants = {{"p2c has an index of its own, the right one",
                          {{"/relative.index", {}, mirrored_index},
                           p2c_by([](const Replay& at) { return at.right("/relative.index"); })}},
                         {"the index is right, c2p reads its transpose", {c2p_by(mirrored_index)}}}};
}

}  // namespace locus::conformance
