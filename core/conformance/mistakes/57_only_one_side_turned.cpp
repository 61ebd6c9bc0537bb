#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_57() {
    const auto as_it_is = [](const auto& x, const auto&, const auto&) { return x; };
    const auto by_halves = [](const auto& x, const auto& sin, const auto& cos) {
        return turned(x, sin, cos, RotaryLayout::half_split);
    };
    return {.number = 57,
            .name = "queries and keys are not turned alike",
            .symptom = "scores depend on where in the text a pair stands, not only on i - j",
            .betrays = "one of q_rot and k_rot is right, the other is not turned or turned in another layout",
            .evidence = "",
            .lesson = "17",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"only queries are turned", {rotation("k_rot", "k", as_it_is)}},
                         {"only keys are turned", {rotation("q_rot", "q", as_it_is)}},
                         {"keys by halves, queries by neighbours", {rotation("k_rot", "k", by_halves)}},
                         {"queries by halves, keys by neighbours", {rotation("q_rot", "q", by_halves)}}}};
}

}  // namespace locus::conformance
