#pragma once
// How far back a token's vector can know of, layer by layer.  Dai et al. 2019, section 3.2 and figure 2 (spec 7.5).
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Which keys a token looks at: its segment up to itself, and the memory before the segment.
struct SeenKeys {
    Index first = 0, last = 0;  // positions in the text
};
SeenKeys keys_of(Index position, Index segment_tokens, Index memory);

/// The oldest position that can change the vector of `position` after 0, 1, ... `layers` layers: [layers + 1].  Every
/// layer looks at vectors that have looked back themselves, so the reach grows with the layers.
std::vector<Index> oldest_known(Index position, Index layers, Index segment_tokens, Index memory);

}  // namespace locus
