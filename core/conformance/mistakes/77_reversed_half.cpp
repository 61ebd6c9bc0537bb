#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_77() {
    return {.number = 77,
            .name = "with bi_data the second half of the batch keeps the signs of forward text",
            .symptom = "half of the batch is right, the other half sees its past as its future",
            .betrays = "samples from B/2 on: the sines of their rows of positions have the wrong sign, cosines agree",
            .evidence = "",
            .lesson = "23",
            .families = {Family::xlnet},
            .stems = {"/positions.r_backward"},
            .variants = {{"", {{"/positions.r_backward", {"/positions.r"}, [](const Replay& at) {
                                    at.right("/positions.r_backward");  // only where there is reversed text
                                    return at("/positions.r");
                                }}}}}};
}

}  // namespace locus::conformance
