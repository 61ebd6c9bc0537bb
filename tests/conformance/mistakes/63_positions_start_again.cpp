#include "tests/conformance/mistakes/mistakes.h"
#include "tests/conformance/rotations.h"

namespace locus::conformance {

namespace {

/// Row m of the right table becomes row position(m, T).
Formula rows_of(const std::string& stem, Index (*position)(Index m, Index length)) {
    return {stem, {}, [stem, position](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                Tensor<double> rows(right.shape());
                for (Index m = 0; m < right.extent(0); ++m)
                    rows.matrix().row(m) = right.matrix().row(position(m, right.extent(0)));
                return rows;
            }};
}

}  // namespace

Mistake mistake_63() {
    const auto always_first = [](Index, Index) { return Index(0); };
    const auto second_half = [](Index m, Index length) { return m < length / 2 ? m : m - length / 2; };
    return {.number = 63,
            .name = "positions start at 0 again behind a cached prefix",
            .symptom = "a pass over the whole text is right, the same text in pieces is not",
            .betrays = "the rows of rotary.sin repeat",
            .evidence = "",
            .lesson = "17",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos"},
            .variants = {
                {"one token at a time", {rows_of("/rotary.sin", always_first), rows_of("/rotary.cos", always_first)}},
                {"two halves", {rows_of("/rotary.sin", second_half), rows_of("/rotary.cos", second_half)}}}};
}

}  // namespace locus::conformance
