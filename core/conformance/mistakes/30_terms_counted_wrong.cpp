#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// scores divided by sqrt(counted d).  A count of 1 is mistake 26.
Variant counting(int counted) {
    return {"n is counted as " + std::to_string(counted),
            {{"scores", {"c2c", "c2p", "p2c"}, [counted](const Replay& at) {
                  const int terms = terms_of(at).count();
                  if (terms == counted) throw NotEnough{"another number of terms"};
                  const double factor = std::sqrt(static_cast<double>(terms) / counted);
                  return mapped(at.right("scores"), [&](double score) { return score * factor; });
              }}}};
}

}  // namespace

Mistake mistake_30() {
    return {.number = 30,
            .name = "n in sqrt(n d) counts other terms than those that are added",
            .symptom = "attention is a little too flat or too sharp",
            .betrays = "scores are sqrt(n / counted) of what they should be, everywhere",
            .evidence = "deberta.cpp hard-codes 3",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {counting(2), counting(3), counting(4)}};
}

}  // namespace locus::conformance
