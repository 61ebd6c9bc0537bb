#pragma once
// Ports of replaced-token detection and of SiFT, in plain loops, as far as they do not run a model: from what the cases
// give and, where a model would have to run, from its recorded answers.
#include "core/models/deberta_config.h"
#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

/// What such a port is given.
struct TrainingGiven {
    DebertaConfig config;
    const WeightSource* weights = nullptr;
    const ModelInput* input = nullptr;
    const Trace* tensors = nullptr;  // hidden [B,T,D] or noise [B,T,D]
    const Trace* answers = nullptr;  // SiFT: logits and gradient as recorded
    double sigma = 0, learning_rate = 0;
};

/// rtd.*: the discriminator's head over hidden, labels and losses.
template <class Scalar>
Trace toy_rtd(const TrainingGiven& given, const Injection& injected);
/// sift.*: all but logits and gradient is computed here.
template <class Scalar>
Trace toy_sift(const TrainingGiven& given, const Injection& injected);

}  // namespace locus::conformance::toy
