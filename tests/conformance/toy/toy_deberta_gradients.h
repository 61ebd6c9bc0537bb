#pragma once
// The backward pass of a whole DeBERTa in plain loops: what a port that trains would report.
#include "core/models/deberta_config.h"
#include "tests/conformance/toy/toolbox.h"

namespace locus::conformance::toy {

/// Gradients of the mean loss over all targets: "grad." before stages and, with "deberta." before those of the
/// encoder, before parameters.  `forward`: what the port dumped on its way to the loss, of a model with version 2's
/// names and the mask decoder.
template <class Scalar>
Trace toy_gradients(const DebertaConfig& config, const WeightSource& weights, const ModelInput& input,
                    const Trace& forward, const Injection& injected);

extern template Trace toy_gradients<float>(const DebertaConfig&, const WeightSource&, const ModelInput&, const Trace&,
                                           const Injection&);
extern template Trace toy_gradients<double>(const DebertaConfig&, const WeightSource&, const ModelInput&, const Trace&,
                                            const Injection&);

}  // namespace locus::conformance::toy
