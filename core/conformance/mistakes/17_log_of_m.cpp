#include "core/conformance/diagnosis/log_row.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_17() {
    return {.number = 17,
            .name = "the log bucket divides by ln(M / mid) instead of ln((M - 1) / mid)",
            .symptom = "a few far keys are off by one bucket",
            .betrays = "relative.index differs in a few far offsets only, first at 170 for b = 256, M = 512",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"", {log_index_by([](const RelativeRule& rule, Index offset) {
                              return log_row(rule, offset, [&](double distance, double middle) {
                                  return std::ceil(log_steps(distance, middle, static_cast<double>(rule.max_position)));
                              });
                          })}}}};
}

}  // namespace locus::conformance
