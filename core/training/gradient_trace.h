#pragma once
// The way back of a whole DeBERTa, stage by stage, under the names of the way there.
#include "core/models/deberta.h"
#include "core/training/parameters.h"

namespace locus {

/// grad.<stage> for the stages a layer keeps, and grad.<parameter> under the names of the checkpoint's file with
/// "deberta." in front of the encoder's: gradients of the mean masked-word loss over input.labels, without dropout.
/// The decoder runs where the checkpoint has one, unless `decoder` is false.  Stages come in the order of
/// core/stages.h. Throws Error(usage) without labels, for bad input, and for a pattern of `wanted` that matches
/// nothing; Error(unsupported) for version 1, talking heads, a mask [B,T,T] and a checkpoint without a masked-word
/// head.
template <class Scalar>
Trace gradient_trace(const DebertaConfig& config, const std::shared_ptr<const WeightSource>& weights,
                     const ModelInput& input, bool decoder, const StageFilter& wanted);

}  // namespace locus
