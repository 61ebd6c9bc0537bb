#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_07() {
    return {.number = 7,
            .name = "the centre of the relative index is off by one",
            .symptom = "a small shift of all positions",
            .betrays = "the diagonal of relative.index is k - 1 or k + 1 instead of k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"centre at k - 1", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.inside(rule.bucket(offset) + rule.span - 1);
                          })}},
                         {"centre at k + 1", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.inside(rule.bucket(offset) + rule.span + 1);
                          })}},
                         {"one row less after the clamp", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.inside(rule.row(offset) - 1);
                          })}},
                         {"one row more after the clamp", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.inside(rule.row(offset) + 1);
                          })}}}};
}

}  // namespace locus::conformance
