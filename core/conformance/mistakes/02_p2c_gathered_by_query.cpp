#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_02() {
    return {.number = 2,
            .name = "p2c is gathered along k q_r^T with delta(i,j) and never transposed",
            .symptom = "asymmetric garbage in p2c; c2c and c2p are exact",
            .betrays = "p2c[a,b] == k_a . q_r[delta(a,b)]",
            .evidence = "",
            .lesson = "07",
            .families = {Family::deberta},
            .stems = {"p2c"},
            .variants = {{"", {{"p2c", {"k", "q_r", "/relative.index"}, [](const Replay& at) {
                                    return gathered_by_query(at.table_products("k", "q_r"), at("/relative.index"));
                                }}}}}};
}

}  // namespace locus::conformance
