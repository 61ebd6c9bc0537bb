#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

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

/// Rows of x turned by these rows of the angles: row m of the last `count` by start(m), the others by their own.
Formula turned_from(const std::string& stem, const std::string& from, Index (*start)(Index m)) {
    return {stem, {from}, [=](const Replay& at) {
                const Index fresh = at("q").extent(2), keys = at("k").extent(2), rows = at(from).extent(2);
                if (fresh >= keys) throw NotEnough{"a second step with keys of the first"};
                const auto angles = [&](const char* wave) {
                    const Tensor<double>& table = at(wave);
                    Matrix<double> chosen(rows, table.extent(1));
                    for (Index m = 0; m < rows; ++m)
                        chosen.row(m) = table.matrix().row(m < rows - fresh ? m : start(m - (rows - fresh)));
                    return as_rows(chosen);
                };
                return turned(at(from), angles("/rotary.sin"), angles("/rotary.cos"), RotaryLayout::interleaved);
            }};
}

}  // namespace

Mistake mistake_63() {
    const auto always_first = [](Index, Index) { return Index(0); };
    const auto second_half = [](Index m, Index length) { return m < length / 2 ? m : m - length / 2; };
    const auto again = [](Index m) { return m; };
    const auto stands = [](Index) { return Index(0); };
    return {.number = 63,
            .name = "positions start at 0 again behind a cached prefix",
            .symptom = "a pass over the whole text is right, the same text in pieces is not",
            .betrays = "the rows of rotary.sin repeat",
            .evidence = "",
            .lesson = "17",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos", "q_rot", "k_rot"},
            .variants = {
                {"one token at a time", {rows_of("/rotary.sin", always_first), rows_of("/rotary.cos", always_first)}},
                {"two halves", {rows_of("/rotary.sin", second_half), rows_of("/rotary.cos", second_half)}},
                {"queries of a second step start at 0 again", {turned_from("q_rot", "q", again)}},
                {"new keys of a second step start at 0 again", {turned_from("k_rot", "k", again)}},
                {"queries and new keys of a second step start at 0 again",
                 {turned_from("q_rot", "q", again), turned_from("k_rot", "k", again)}},
                {"every token of a second step stands at 0",
                 {turned_from("q_rot", "q", stands), turned_from("k_rot", "k", stands)}}}};
}

}  // namespace locus::conformance
