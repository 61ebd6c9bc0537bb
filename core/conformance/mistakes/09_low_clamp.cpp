#include <algorithm>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_09() {
    return {.number = 9,
            .name = "far keys on the right do not share row 0: clamped to 1, or wrapped by a modulo",
            .symptom = "invisible while the text is no longer than k",
            .betrays = "relative.index[0, T-1] is not 0 for T >= 2k",
            .evidence = "",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"clamped to 1 ... 2k - 1", {index_by([](const RelativeRule& rule, Index offset) {
                              return std::max<Index>(rule.row(offset), 1);
                          })}},
                         {"modulo 2k", {index_by([](const RelativeRule& rule, Index offset) {
                              const Index rest = (rule.bucket(offset) + rule.span) % rule.rows();
                              return rest < 0 ? rest + rule.rows() : rest;
                          })}},
                         {"modulo 2k, negative below 0 as in C", {index_by([](const RelativeRule& rule, Index offset) {
                              return (rule.bucket(offset) + rule.span) % rule.rows();
                          })}}}};
}

}  // namespace locus::conformance
