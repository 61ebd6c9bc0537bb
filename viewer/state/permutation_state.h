#pragma once
// What the Permutation page remembers.
#include <string>

#include "core/tensor.h"
#include "viewer/plots/matrix_view.h"

namespace locus {

/// The Permutation page: two targets of the model's sentence, in the order in which the second is easy.
struct PermutationState {
    std::size_t sentence = 0;  // 0 the model's, 1 the proverb, 2 four tokens
    std::string order;      // "4 6": predicted positions from 1, in their order; "-": none; empty: the sentence's own
    bool segments = false;  // the tokens' types take part: the term ef
    Index layer = 3, head = 0;
    Index card = -1;  // the card that the keys move; -1: the last one
    Index row = -1;   // position whose row is explained; -1: the last one predicted

    std::size_t side = 0;    // the column shows: 0 the row, 1 the cell, 2 its channels
    std::size_t stream = 1;  // of the cell: 0 content, 1 query
    Cell cell{5, 3};         // position that looks, position that is looked at
    bool locked = true;
    Index term = -1;          // whose channels: 0 ac, 1 bd, 2 ef; -1: the strongest
    Index first_channel = 0;  // at the top of their table
};

}  // namespace locus
