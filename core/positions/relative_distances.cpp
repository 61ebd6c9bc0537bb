#include "core/positions/relative_distances.h"

#include <algorithm>

namespace locus {

std::vector<double> transformer_xl_distances(Index keys, Index clamp) {
    std::vector<double> distances;
    for (Index distance = keys - 1; distance >= 0; --distance)
        distances.push_back(static_cast<double>(clamp > 0 ? std::min(distance, clamp) : distance));
    return distances;
}

std::vector<double> xlnet_distances(Index queries, Index keys, Direction direction, Index clamp, bool reversed) {
    const Index last = direction == Direction::bidirectional ? 1 - queries : 0;
    std::vector<double> distances;
    for (Index distance = keys; distance >= last; --distance) {
        const Index turned = reversed ? -distance : distance;
        distances.push_back(static_cast<double>(clamp > 0 ? std::clamp(turned, -clamp, clamp) : turned));
    }
    return distances;
}

}  // namespace locus
