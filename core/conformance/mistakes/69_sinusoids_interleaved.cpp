#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// [sin | cos] -> sin, cos, sin, cos, ...
Formula interleaved(const std::string& stem) {
    return {stem, {}, [stem](const Replay& at) {
                const Tensor<double> right = at.right(stem);
                const Index pairs = right.extent(1) / 2;
                Tensor<double> rows(right.shape());
                for (Index t = 0; t < pairs; ++t) {
                    rows.matrix().col(2 * t) = right.matrix().col(t);
                    rows.matrix().col(2 * t + 1) = right.matrix().col(pairs + t);
                }
                return rows;
            }};
}

}  // namespace

Mistake mistake_69() {
    return {.number = 69,
            .name = "sine and cosine alternate in the rows of positions instead of standing one behind the other",
            .symptom = "the position term is noise, the content term right",
            .betrays = "positions.r is right after exchanging channels; row of distance 0 is 0, 1, 0, 1, ...",
            .evidence = "",
            .lesson = "25",
            .families = {Family::transformer_xl, Family::xlnet},
            .stems = {"/positions.r"},
            .variants = {{"", {interleaved("/positions.r"), interleaved("/positions.r_backward")}}}};
}

}  // namespace locus::conformance
