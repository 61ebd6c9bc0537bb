#include "core/conformance/diagnosis/log_row.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

std::vector<Formula> divided_after(double (*denominator)(double, double)) {
    return {log_index_by([denominator](const RelativeRule& rule, Index offset) {
        return log_row(rule, offset, [&](double distance, double middle) {
            const double ratio = std::log(std::floor(distance / middle)) /
                                 std::log(denominator(static_cast<double>(rule.max_position - 1), middle));
            return std::ceil(ratio * (middle - 1));
        });
    })};
}

}  // namespace

Mistake mistake_20() {
    return {.number = 20,
            .name = "the logarithm is taken of an integer quotient, |i - j| / mid",
            .symptom = "staircases: all distances of one multiple of mid share a bucket",
            .betrays = "the bucket of x is mid for all mid <= x < 2 mid",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"the numerator alone", divided_after([](double top, double middle) { return top / middle; })},
                         {"the denominator too",
                          divided_after([](double top, double middle) { return std::floor(top / middle); })}}};
}

}  // namespace locus::conformance
