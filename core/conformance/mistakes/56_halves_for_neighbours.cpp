#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_56() {
    return {.number = 56,
            .name = "channels t and t + d/2 are turned instead of the neighbours 2t and 2t + 1",
            .symptom = "scores still depend on i - j alone, yet a trained model talks nonsense",
            .betrays = "q_rot and k_rot equal the half-split rotation of q and k; row 0 is right",
            .evidence = "transformers #25199, #31859; EleutherAI/gpt-neox #834; Dao-AILab/flash-attention #45, #288",
            .lesson = "19",
            .families = {Family::roformer},
            .stems = {"q_rot", "k_rot"},
            .variants = {{"", rotations([](const auto& x, const auto& sin, const auto& cos) {
                              return turned(x, sin, cos, RotaryLayout::half_split);
                          })}}};
}

}  // namespace locus::conformance
