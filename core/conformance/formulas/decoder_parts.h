#pragma once
// The steps that wrong mask decoders are written in.  Right: spec 4.1; microsoft/DeBERTa masked_language_model.py.
#include "core/conformance/formulas/formulas.h"

namespace locus::conformance {

/// t of "emd.t."; throws NotEnough elsewhere, so that a formula speaks of the decoder alone.
Index decoder_pass(const Replay& at);
/// Output of the encoder's layer N - from_the_end: 1 is the last one, 2 what the decoder starts from; one before the
/// first layer are the embeddings.  Throws NotEnough beyond.
const Tensor<double>& hidden_state(const Replay& at, Index from_the_end);
/// I [B,T,D], the rows of the absolute table, in the shape of h.  Throws NotEnough where no decoder can run.
Tensor<double> absolute_rows(const Replay& at, const Tensor<double>& h);
/// x through the key or value projection of the last layer, heads split.  part: 1 k, 2 v.
Tensor<double> key_or_value(const Replay& at, const Tensor<double>& x, int part);

/// A wrong decoder as a whole: to its wrong formulas come those by which one pass hands its output to the next, and the
/// last one to the head; so it can be judged by any stage, down to the logits.
std::vector<Formula> decoder_of(std::vector<Formula> wrong, Index passes = 2);
/// k and v made of what `source` says.
std::vector<Formula> keys_and_values_from(std::function<Tensor<double>(const Replay&)> source);

}  // namespace locus::conformance
