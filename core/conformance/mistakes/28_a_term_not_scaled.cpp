#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Terms that are left raw.
std::vector<Formula> raw(bool c2p, bool p2c) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [=](const Replay& at) {
                 const Terms terms = terms_of(at);
                 if ((c2p && !terms.c2p) || (p2c && !terms.p2c)) throw NotEnough{"a term that is left raw"};
                 const double scale = right_scale(at);
                 return weighted_terms(at, {scale, c2p ? 1 : scale, p2c ? 1 : scale});
             }}};
}

}  // namespace

Mistake mistake_28() {
    return {.number = 28,
            .name = "a position term is added without the scale",
            .symptom = "position outweighs content",
            .betrays = "in scores = a c2c + b c2p + c p2c a coefficient is 1 instead of 1 / sqrt(n d)",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {{"c2c alone is scaled", raw(true, true)},
                         {"p2c is not scaled", raw(false, true)},
                         {"c2p is not scaled", raw(true, false)}}};
}

}  // namespace locus::conformance
