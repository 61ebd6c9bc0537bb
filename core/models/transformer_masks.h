#pragma once
// Who may look at whom in the Transformer.  Not for other rooms of the house.
#include <vector>

#include "core/attention/softmax.h"
#include "core/models/model_input.h"
#include "core/models/transformer.h"

namespace locus {

/// One mask [queries,keys] per sample: key tokens of keys.mask, and in a causal mask none behind the query (Vaswani et
/// al. 2017, section 3.2.3).  All empty where everything is visible.
std::vector<Mask> key_masks(const ModelInput& keys, Index queries, bool causal);

/// Throws Error(usage) that names the side unless ids, mask and length are possible.
void check_side(const ModelInput& input, const char* side, const TransformerConfig& config);

}  // namespace locus
