#include "core/conformance/diagnosis/relative_rule.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Right but for keys further right than b/2, whose bucket is another.
std::vector<Formula> far_right(Index (*bucket)(const RelativeRule&, Index)) {
    return {log_index_by([bucket](const RelativeRule& rule, Index offset) {
        return offset < -rule.middle() ? rule.inside(bucket(rule, offset) + rule.span) : rule.row(offset);
    })};
}

}  // namespace

Mistake mistake_19() {
    return {.number = 19,
            .name = "keys on the far right take the logarithm of a negative number, or lose their sign",
            .symptom = "one side of the text is wrong from |i - j| > b/2 on",
            .betrays = "index[i,j] + index[j,i] is not 2b for far pairs",
            .evidence = "",
            .lesson = "06",
            .families = {Family::deberta},
            .stems = {"/relative.index"},
            .variants = {{"NaN becomes the smallest integer",
                          far_right([](const RelativeRule& rule, Index) { return -4 * rule.span; })},
                         {"NaN becomes 0", far_right([](const RelativeRule&, Index) { return Index{0}; })},
                         {"NaN becomes 0 before b/2 is added",
                          far_right([](const RelativeRule& rule, Index) { return -rule.middle(); })},
                         {"the sign is lost",
                          far_right([](const RelativeRule& rule, Index offset) { return rule.bucket(-offset); })}}};
}

}  // namespace locus::conformance
