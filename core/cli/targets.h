#pragma once
// Which tokens XLNet is to predict, as the two tensors it reads.
#include <string>
#include <vector>

#include "core/models/model_input.h"
#include "core/text/tokenizers/tokenizer.h"

namespace locus::cli {

/// Every place of mask_positions becomes a target, hidden from all tokens: perm_mask [B,T,T], target_mapping [B,P,T].
void predict_masks(ModelInput& input);

/// The tokens of these words become targets in this order: each sees all other tokens and the targets before it; tokens
/// that are no targets see none.  One sample.
/// Throws Error(usage) for a word that the text does not hold, or that is named twice.
/// Returns the targets' positions.
std::vector<Index> predict_in_order(ModelInput& input, const std::vector<std::string>& words,
                                    const Tokenizer& tokenizer);

}  // namespace locus::cli
