#pragma once
// The words of a memory and of the segment that looks back into it, one beside the other; and the shift as a film.
// Dai et al. 2019; kimiyoung/transformer-xl _rel_shift (spec 7.2-7.4).
#include <string>
#include <vector>

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

/// One cell of the film: which query's row it belongs to and which distance it stands for.
struct FilmCell {
    Index query = 0, distance = 0;
    bool padding = false;  // the zero column
    bool leaked = false;   // stands in the row of another query
    bool hidden = false;   // the mask covers it
};

struct FilmFrame {
    std::string what;  // "a column of zeros on the left"
    Index rows = 0, columns = 0;
    std::vector<FilmCell> cells;  // row-major

    const FilmCell& at(Index row, Index column) const {
        return cells[static_cast<std::size_t>(row * columns + column)];
    }
};

/// Transformer-XL's shift from the raw products to the masked term: raw, padded, read as [K+1,T], first row dropped,
/// read as [T,K], masked.  queries T >= 1, memory M >= 0, K = M + T.
std::vector<FilmFrame> shift_film(Index queries, Index memory);

}  // namespace locus
