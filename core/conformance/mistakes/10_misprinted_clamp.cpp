#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_10() {
    return {.number = 10,
            .name = "row 0 for i - j <= k, where <= -k was meant",
            .symptom = "attention depends on content alone, nearly",
            .betrays = "relative.index holds nothing but 0 and 2k - 1",
            .evidence = "the article by the author of qcqced123/model_study prints it",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"the first case wins at i - j = k", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.bucket(offset) <= rule.span ? 0 : rule.rows() - 1;
                          })}},
                         {"the second case wins at i - j = k", {index_by([](const RelativeRule& rule, Index offset) {
                              return rule.bucket(offset) < rule.span ? 0 : rule.rows() - 1;
                          })}}}};
}

}  // namespace locus::conformance
