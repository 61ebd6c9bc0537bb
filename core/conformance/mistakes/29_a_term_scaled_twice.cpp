#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

std::vector<Formula> twice(bool c2p, bool p2c) {
    return {{"scores", {"c2c", "c2p", "p2c"}, [=](const Replay& at) {
                 const Terms terms = terms_of(at);
                 if ((c2p && !terms.c2p) || (p2c && !terms.p2c)) throw NotEnough{"a term that is scaled twice"};
                 const double scale = right_scale(at), square = scale * scale;
                 return weighted_terms(at, {scale, c2p ? square : scale, p2c ? square : scale});
             }}};
}

}  // namespace

Mistake mistake_29() {
    return {.number = 29,
            .name = "a position term is scaled twice: by its query, and once more",
            .symptom = "the position term all but vanishes",
            .betrays = "in scores = a c2c + b c2p + c p2c a coefficient is 1 / (n d) instead of 1 / sqrt(n d)",
            .evidence = "",
            .lesson = "10",
            .families = {Family::deberta},
            .stems = {"scores"},
            .variants = {{"c2p is scaled twice", twice(true, false)},
                         {"p2c is scaled twice", twice(false, true)},
                         {"both position terms are scaled twice", twice(true, true)}}};
}

}  // namespace locus::conformance
