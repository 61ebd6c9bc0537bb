#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

namespace {

Tensor<double> negated(const Tensor<double>& values) {
    return mapped(values, [](double value) { return -value; });
}

}  // namespace

Mistake mistake_58() {
    return {.number = 58,
            .name = "the rotation has the other sign: R_{-m} instead of R_m",
            .symptom = "scores depend on j - i instead of i - j; lengths and the shift law still hold",
            .betrays = "q_rot[m] == R_m^T q[m]; row 0 is right",
            .evidence = "",
            .lesson = "15",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "q_rot", "k_rot"},
            .variants = {{"in the step itself", rotations([](const auto& x, const auto& sin, const auto& cos) {
                              return turned(x, negated(sin), cos, RotaryLayout::interleaved);
                          })},
                         {"in the table of sines",
                          {{"/rotary.sin", {}, [](const Replay& at) { return negated(at.right("/rotary.sin")); }}}}}};
}

}  // namespace locus::conformance
