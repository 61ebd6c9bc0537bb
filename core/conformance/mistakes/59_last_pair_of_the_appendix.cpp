#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

/// Every pair but the last is right; there (a, b) -> (a cos - a sin, b cos + b sin).
Tensor<double> turned_as_printed(const Tensor<double>& x, const Tensor<double>& sin, const Tensor<double>& cos) {
    Tensor<double> y = turned(x, sin, cos, RotaryLayout::interleaved);
    const Index pair = sin.extent(1) - 1, a = 2 * pair;
    for (Index n = 0; n < x.extent(0) * x.extent(1); ++n)
        for (Index m = 0; m < x.extent(2); ++m) {
            const double s = sin.matrix()(m, pair), c = cos.matrix()(m, pair);
            y.matrix(n)(m, a) = x.matrix(n)(m, a) * (c - s);
            y.matrix(n)(m, a + 1) = x.matrix(n)(m, a + 1) * (c + s);
        }
    return y;
}

}  // namespace

Mistake mistake_59() {
    return {.number = 59,
            .name = "the turned vector ends -x_{d-1}, x_d instead of -x_d, x_{d-1}",
            .symptom = "small errors that grow with the position; the length of a vector is not kept",
            .betrays = "only the last pair of q_rot is wrong, and its norm changes with the position",
            .evidence = "the appendix of a published walk-through of RoFormer prints it so; its code is right",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"", rotations(turned_as_printed)}}};
}

}  // namespace locus::conformance
