#pragma once
// The geometry of the Transformer-XL page (Dai et al. 2019): the tape of memory and segment, how far back every layer
// sees, and the shift trick frame by frame.
#include <string>
#include <vector>

#include "core/tensor.h"

namespace locus {

/// Places on a tape of `longest` words that may be remembered and `segment` words after them.  Of the first ones only
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

// How far back, layer by layer: Dai et al. 2019, section 3.2 and figure 2.

/// Which keys a token looks at: its segment up to itself, and the memory before the segment.
struct SeenKeys {
    Index first = 0, last = 0;  // positions in the text
};
SeenKeys keys_of(Index position, Index segment_tokens, Index memory);

/// The oldest position that can change the vector of `position` after 0, 1, ... `layers` layers: [layers + 1].  Every
/// layer looks at vectors that have looked back themselves, so the reach grows with the layers.
std::vector<Index> oldest_known(Index position, Index layers, Index segment_tokens, Index memory);

// The shift trick as an animation: every number knows its query and its distance, and where it goes
// next. kimiyoung/transformer-xl _rel_shift; zihangdai/xlnet rel_shift.

/// One cell of the animation: which query's row it belongs to and its distance.
struct AnimationCell {
    Index query = 0, distance = 0;
    bool padding = false;  // the zero column
    bool leaked = false;   // is in the row of another query, or at a distance that is not its own
    bool hidden = false;   // the mask covers it
};

struct AnimationFrame {
    std::string what;  // "a column of zeros on the left"
    Index rows = 0, columns = 0;
    std::vector<AnimationCell> cells;  // row-major
    std::vector<Index> goes_to;  // per cell: its place in the next frame, -1: dropped; empty: no frame follows from it

    const AnimationCell& at(Index row, Index column) const {
        return cells[static_cast<std::size_t>(row * columns + column)];
    }
};

/// Transformer-XL's shift from the raw products to the masked term: raw, padded, read as [K+1,T], first row dropped,
/// read as [T,K], masked.  queries T >= 1, memory M >= 0, K = M + T.
std::vector<AnimationFrame> shift_animation(Index queries, Index memory);

/// XLNet's, which keeps the distances on both sides (K + T columns): raw, read as [K+T,T], first row dropped, read as
/// [T,K+T-1], the first K columns; and last, not from these, what Transformer-XL's code would have left, without a mask
/// to cover it.
std::vector<AnimationFrame> shift_animation_xlnet(Index queries, Index memory);

/// How many cells of a frame have leaked and are not hidden.
Index leaked_cells(const AnimationFrame& frame);

}  // namespace locus
