#include "viewer/plots/segment_tape.h"

#include <algorithm>
#include <cmath>

namespace locus {

Index SegmentTape::word_at(float x) const {
    return std::clamp<Index>(static_cast<Index>(std::floor((x - left) / pitch())), 0, words() - 1);
}

Index SegmentTape::memory_at(float x) const {
    return std::clamp<Index>(longest - static_cast<Index>(std::lround((x - left) / pitch())), 0, longest);
}

}  // namespace locus
