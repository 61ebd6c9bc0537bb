#pragma once
// What a DeBERTa model of versions 2 and 3 has to learn.
#include "core/models/deberta_config.h"
#include "core/training/parameters.h"
#include "core/training/random.h"

namespace locus {

/// Encoder, absolute table where the decoder or the embeddings need one, masked-word head under the names of
/// microsoft/DeBERTa.  Throws Error(unsupported) for version 1 and talking heads, which can be read but not trained.
TensorShapes masked_language_tensors(const DebertaConfig& config, bool decoder);

/// Fresh values: normal with this standard deviation for tables and weights, 1 for the weights of norms, 0 for biases
/// and for word 0, which stands for padding.  Source: transformers modeling_deberta_v2.py _init_weights.
template <class Scalar>
void initialise(Parameters<Scalar>& parameters, RandomStream& random, double deviation = 0.02);

/// The head that microsoft/DeBERTa calls lm_predictions.
inline constexpr const char* kMaskedWordHead = "lm_predictions.lm_head.";
inline constexpr const char* kWordTable = "embeddings.word_embeddings.weight";
inline constexpr const char* kAbsoluteTable = "embeddings.position_embeddings.weight";

}  // namespace locus
