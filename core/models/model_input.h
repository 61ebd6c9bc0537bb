#pragma once
// What a forward pass is given.
#include "core/tensor.h"

namespace locus {

struct ModelInput {
    IndexTensor tokens;          // [B,T]
    IndexTensor mask;            // [B,T] or [B,T,T], 1 = visible; empty: everything is visible
    IndexTensor token_types;     // [B,T]; empty: zeros
    IndexTensor labels;          // [B,T], 0 = not a target; empty: no loss
    IndexTensor mask_positions;  // [N,2] (sample, token): rows for the *_at_positions stages; empty: no such stages

    Index batch() const { return tokens.extent(0); }
    Index length() const { return tokens.extent(1); }
};

}  // namespace locus
