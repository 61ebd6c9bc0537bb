#pragma once
// What the Transformer-XL page remembers.
#include "core/tensor.h"
#include "viewer/plots/matrix_view.h"
#include "viewer/ui/animation.h"

namespace locus {

/// The Transformer-XL page: a head that finds in memory what the segment does not hold.
struct MemoryState {
    Index memory = 24;         // M; as much as there is where there is less
    Index segment_tokens = 0;  // of every segment; 0: half of a short text, at most 24
    Index segment = 1;         // which one is read, from 0
    Index layer = 0, head = 0;
    Cell cell{10, 18};  // query of the segment, key of memory and segment
    bool locked = true;

    std::size_t side = 0;     // the column shows: 0 the next word, 1 the cell, 2 its channels
    Index term = -1;          // whose channels: 0 a, 1 b, 2 c, 3 d, 4 ac, 5 bd; -1: the strongest
    Index first_channel = 0;  // at the top of their table

    std::size_t strip = 0;   // below the matrices: 0 the shift, 1 how far back
    std::size_t trick = 0;   // whose shift: 0 Transformer-XL, 1 XLNet
    Film film{4, false, 1};  // where cells have leaked
    Index film_queries = 3, film_memory = 3;
};

}  // namespace locus
