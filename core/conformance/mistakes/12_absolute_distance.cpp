#include <cstdlib>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_12() {
    return {
        .number = 12,
        .name = "the distance |i - j| is used for the offset i - j",
        .symptom = "before and after are the same; direction is lost",
        .betrays = "relative.index is symmetric",
        .evidence = "",
        .lesson = "05",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {{"centre k + |i - j|",
                      {index_by([](const RelativeRule& rule, Index offset) { return rule.row(std::abs(offset)); })}},
                     {"centre k - |i - j|",
                      {index_by([](const RelativeRule& rule, Index offset) { return rule.row(-std::abs(offset)); })}},
                     {"no centre, |i - j|", {index_by([](const RelativeRule& rule, Index offset) {
                          return rule.inside(rule.bucket(std::abs(offset)));
                      })}}}};
}

}  // namespace locus::conformance
