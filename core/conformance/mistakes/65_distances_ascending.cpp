#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Formula reversed(const std::string& stem) {
    return {stem, {}, [stem](const Replay& at) {
                Tensor<double> rows = at.right(stem);
                rows.matrix() = rows.matrix().colwise().reverse().eval();
                return rows;
            }};
}

}  // namespace

Mistake mistake_65() {
    return {.number = 65,
            .name = "rows of positions stand for rising instead of falling distances",
            .symptom = "near and far are exchanged: a token looks at what is longest ago",
            .betrays = "positions.r and r_k equal the right ones upside down",
            .evidence = "",
            .lesson = "25",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"/positions.r"},
            .variants = {{"", {reversed("/positions.r"), reversed("/positions.r_backward")}}}};
}

}  // namespace locus::conformance
