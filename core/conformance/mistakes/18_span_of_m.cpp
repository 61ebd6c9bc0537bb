#include <algorithm>

#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_18() {
    return {.number = 18,
            .name = "the index is centred at M although it holds log buckets of span b",
            .symptom = "out of range, or the wrong half of the table",
            .betrays = "the diagonal of relative.index is M instead of b",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"clamped to 0 ... 2M - 1", {log_index_by([](const RelativeRule& rule, Index offset) {
                              return std::clamp<Index>(rule.bucket(offset) + rule.max_position, 0,
                                                       2 * rule.max_position - 1);
                          })}},
                         {"clamped to the table", {log_index_by([](const RelativeRule& rule, Index offset) {
                              return rule.inside(rule.bucket(offset) + rule.max_position);
                          })}}}};
}

}  // namespace locus::conformance
