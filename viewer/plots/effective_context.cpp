#include "viewer/plots/effective_context.h"

#include <algorithm>

namespace locus {

SeenKeys keys_of(Index position, Index segment_tokens, Index memory) {
    LOCUS_CHECK(position >= 0 && segment_tokens > 0 && memory >= 0,
                "effective context: position " + std::to_string(position) + ", segments of " +
                    std::to_string(segment_tokens) + " and a memory of " + std::to_string(memory) +
                    ", expected none below 0 and segments of at least 1");
    return {std::max<Index>(0, position / segment_tokens * segment_tokens - memory), position};
}

std::vector<Index> oldest_known(Index position, Index layers, Index segment_tokens, Index memory) {
    std::vector<Index> oldest = {position};
    for (Index l = 0; l < layers; ++l) oldest.push_back(keys_of(oldest.back(), segment_tokens, memory).first);
    return oldest;
}

}  // namespace locus
