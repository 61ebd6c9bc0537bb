#pragma once
// The words of a memory and of the segment that looks back into it, one beside the other.  Dai et al. 2019.
#include "core/tensor.h"

namespace locus {

/// Places on a tape of `longest` words that may be remembered and `segment` words behind them.  Of the first ones only
/// the newest `memory` are in sight; all keep their places, so that the tape does not move when the memory does.
struct SegmentTape {
    float left = 0, right = 1;
    Index longest = 0, memory = 0, segment = 1;

    Index words() const { return longest + segment; }
    float pitch() const { return (right - left) / static_cast<float>(words()); }
    /// Left edge of a word; words() gives the right end.
    float edge(Index word) const { return left + pitch() * static_cast<float>(word); }
    /// The word at x, clamped to the tape.
    Index word_at(float x) const;
    /// How long the memory becomes when its left end is dragged to x.
    Index memory_at(float x) const;
    /// Column of the attention matrix [segment, memory + segment]; negative: forgotten.
    Index key_of(Index word) const { return word - (longest - memory); }
    Index word_of(Index key) const { return key + (longest - memory); }
};

}  // namespace locus
