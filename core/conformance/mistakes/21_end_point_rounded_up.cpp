#include <algorithm>
#include <cstdlib>

#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Bucket b instead of b - 1 for offsets that the logarithm sees as M - 1; row 2b, as for all beyond, unless clamped.
Index one_up(const RelativeRule& rule, Index offset) {
    const Index x = rule.clamped_offset(offset);
    if (std::abs(x) != rule.max_position - 1) return std::clamp<Index>(rule.bucket(offset) + rule.span, 0, rule.rows());
    return x > 0 ? rule.rows() : 0;
}

}  // namespace

Mistake mistake_21() {
    return {
        .number = 21,
        .name = "the logarithm of M - 1 comes out one ulp too high, and ceil makes bucket b of it",
        .symptom = "reads past the end of the table, or row 0 for keys at distance M - 1 on the right",
        .betrays = "relative.index reaches 2b before it is clamped; row 0 where 1 is right",
        .evidence = "deberta.cpp 6e15fe6",
        .lesson = "06",
        .families = {Family::deberta},
        .stems = {"/relative.index"},
        .variants = {
            {"clamped to the table",
             {log_index_by([](const RelativeRule& rule, Index offset) { return rule.inside(one_up(rule, offset)); })}},
            {"not clamped, row 2b reads as zeros",
             {log_index_by(one_up), c2p_by(index_here, [](const Replay& at) { return with_row_behind(at("k_r")); }),
              p2c_by(index_here, [](const Replay& at) { return with_row_behind(at("q_r")); })}}}};
}

}  // namespace locus::conformance
