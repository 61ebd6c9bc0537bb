#include <algorithm>

#include "core/conformance/diagnosis/wrong_terms.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// How far the used span, min(T, k), stays below k.
Index missing(const RelativeRule& rule) { return rule.span - std::min(std::max(rule.queries, rule.keys), rule.span); }

Index from_the_front(const RelativeRule& rule, Index offset) { return rule.row(offset) - missing(rule); }
Index counted_twice(const RelativeRule& rule, Index offset) { return rule.row(offset) + missing(rule); }
Index clamped_in_slice(const RelativeRule& rule, Index offset) {
    const Index used = rule.span - missing(rule);
    return std::min(rule.row(offset), 2 * used - 1) + missing(rule);
}

/// The index is reported as it should be, and read in the wrong slice.
std::vector<Formula> read_by(RowOf row) {
    const Make index = [row](const Replay& at) {
        const RelativeRule rule = relative_rule(at);
        return rule.matrix([&](Index offset) { return row(rule, offset); });
    };
    return {c2p_by(index), p2c_by(index)};
}

}  // namespace

Mistake mistake_11() {
    return {.number = 11,
            .name = "the table is sliced for one span and indexed for another",
            .symptom = "works for T >= k, wrong for shorter texts",
            .betrays = "scores match with rows moved by k - T; no error for T >= k",
            .evidence = "candle debertav2.rs narrows from row 0",
            .lesson = "05",
            .families = {Family::deberta},
            .stems = {"/relative.index", "c2p", "p2c"},
            .variants = {{"slice [0, 2s), index i - j + s", {index_by(from_the_front)}},
                         {"slice [k - s, k + s), index i - j + k", {index_by(counted_twice)}},
                         {"slice [k - s, k + s), index i - j + k clamped to the slice", {index_by(clamped_in_slice)}},
                         {"the index is right, the slice is [0, 2s)", read_by(from_the_front)},
                         {"the index is right, the slice is [k - s, k + s)", read_by(counted_twice)},
                         {"the index is right, the slice is [k - s, k + s) and clamps", read_by(clamped_in_slice)}}};
}

}  // namespace locus::conformance
