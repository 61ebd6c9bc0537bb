#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_06() {
    return {.number = 6,
            .name = "position keys and position queries are exchanged",
            .symptom = "wrong magnitude, plausible picture",
            .betrays = "k_r equals the right q_r and q_r the right k_r",
            .evidence = "",
            .lesson = "08",
            .families = {Family::deberta},
            .stems = {"q_r", "k_r", "c2p", "p2c"},
            .variants = {{"the projections are exchanged",
                          {{"k_r", {"/relative.table"}, [](const Replay& at) { return at.right("q_r"); }},
                           {"q_r", {"/relative.table"}, [](const Replay& at) { return at.right("k_r"); }}}},
                         {"c2p reads q_r and p2c reads k_r",
                          {c2p_by(index_here, [](const Replay& at) { return at("q_r"); }),
                           p2c_by(index_here, [](const Replay& at) { return at("k_r"); })}}}};
}

}  // namespace locus::conformance
