#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_60() {
    return {.number = 60,
            .name = "sines and cosines are exchanged",
            .symptom = "position 0 is turned by a quarter instead of not at all; scores are those of mistake 58",
            .betrays = "q_rot[0] is not q[0]; rotary.sin[0] == 1",
            .evidence = "",
            .lesson = "15",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos", "q_rot", "k_rot"},
            .variants = {{"in the table",
                          {{"/rotary.sin", {}, [](const Replay& at) { return at.right("/rotary.cos"); }},
                           {"/rotary.cos", {}, [](const Replay& at) { return at.right("/rotary.sin"); }}}},
                         {"where the table is read", rotations([](const auto& x, const auto& sin, const auto& cos) {
                              return turned(x, cos, sin, RotaryLayout::interleaved);
                          })}}};
}

}  // namespace locus::conformance
