#include <algorithm>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_13() {
    return {.number = 13,
            .name = "the span is half the text, and its rows are the first of the table",
            .symptom = "what a row means changes with the length of the text",
            .betrays = "relative.index[0,0] == T / 2; rows from T on are never read",
            .evidence = "qcqced123/model_study",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"clamped to the first T rows", {index_by([](const RelativeRule& rule, Index offset) {
                              return std::clamp<Index>(offset + rule.queries / 2, 0, rule.queries - 1);
                          })}},
                         {"clamped to 2 (T / 2) rows", {index_by([](const RelativeRule& rule, Index offset) {
                              const Index half = rule.queries / 2;
                              return std::clamp<Index>(offset + half, 0, 2 * half - 1);
                          })}}}};
}

}  // namespace locus::conformance
