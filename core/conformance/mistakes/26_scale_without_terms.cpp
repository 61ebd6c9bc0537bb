#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_26() {
    return {.number = 26,
            .name = "the sum of n terms is divided by sqrt(d) instead of sqrt(n d)",
            .symptom = "attention is too sharp: its entropy is too low",
            .betrays = "scores are sqrt(n) times too large everywhere, without a residue",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {{"", {{"scores", {"c2c", "c2p", "p2c"}, [](const Replay& at) {
                                    const double terms = at.deberta().config().terms.count();
                                    return mapped(at.right("scores"),
                                                  [&](double score) { return score * std::sqrt(terms); });
                                }}}}}};
}

}  // namespace locus::conformance
