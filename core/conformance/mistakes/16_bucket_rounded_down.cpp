#include "core/conformance/diagnosis/log_row.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

std::vector<Formula> rounded(double (*round)(double, bool)) {
    return {log_index_by([round](const RelativeRule& rule, Index offset) {
        return log_row(rule, offset, [&](double distance, double middle) {
            return round(log_steps(distance, middle, static_cast<double>(rule.max_position - 1)), offset > 0);
        });
    })};
}

}  // namespace

Mistake mistake_16() {
    return {
        .number = 16,
        .name = "the log bucket is rounded down, or to the nearest, instead of up",
        .symptom = "attention at long range is shifted",
        .betrays = "relative.index is right for |i-j| <= b/2 and nearer to the centre by one beyond",
        .evidence = "",
        .lesson = "06",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {{"floor, or a cast to an integer", rounded([](double steps, bool) { return std::floor(steps); })},
                     {"rounded to the nearest", rounded([](double steps, bool) { return std::round(steps); })},
                     {"floor of the signed value",
                      rounded([](double steps, bool past) { return past ? std::floor(steps) : std::ceil(steps); })}}};
}

}  // namespace locus::conformance
