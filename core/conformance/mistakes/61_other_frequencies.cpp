#include "core/conformance/diagnosis/rotations.h"
#include "core/conformance/mistakes/mistakes.h"

namespace locus::conformance {

Mistake mistake_61() {
    // Which pairs there are is a matter of the head's width d; the exponents come from somewhere else.
    const auto from_width = [](const Replay& at) {
        std::vector<double> theta = inverse_frequencies(at.roformer().hidden_size);
        theta.resize(static_cast<std::size_t>(at.roformer().head_width() / 2));
        return theta;
    };
    const auto every_second = [](const Replay& at) {
        std::vector<double> theta = inverse_frequencies(at.roformer().head_width());
        for (double& angle : theta) angle *= angle;
        return theta;
    };
    return {.number = 61,
            .name = "the angles are not 10000^(-2t/d) with the width d of a head",
            .symptom = "near positions look right, far ones drift",
            .betrays = "the argument of q_rot / q per pair is m times another theta; pair 0 is right",
            .evidence = "",
            .lesson = "16",
            .families = {Family::roformer},
            .stems = {"/rotary.sin", "/rotary.cos"},
            .variants = {{"theta from the model's width D", angles_by(from_width)},
                         {"t counts channels instead of pairs", angles_by(every_second)}}};
}

}  // namespace locus::conformance
