#pragma once
// Permutation language modelling in words: who is predicted from whom.  The masks are core/positions'
// factorisation_order. Yang et al. 2019 (XLNet), sections 2.2 and 2.3.  Positions count from 1, as the paper's do.
#include <string>
#include <vector>

#include "core/text/statistics/word_list.h"

namespace locus {

/// Throws Error(usage) unless each position 1..T stands in the order once, T >= 1.
void check_order(const std::vector<Index>& order);

/// Positions that are known when `target` is predicted, in the order in which they became known.
/// Throws Error(usage) if the target is not in the order.
std::vector<Index> seen_by(const std::vector<Index>& order, Index target);

/// "word 4 is predicted from memory, 3 (학교), 2 (어제)"; "... from memory alone" for the first.  The target's own word
/// is not named: only where it stands is known.
/// Throws Error(usage) if the sentence has another length than the order.
std::string describe_prediction(const std::vector<Index>& order, Index target, const Document& sentence);

/// How far back each visible word of the memory and the current segment lies, Transformer-XL (Dai et al. 2019): row i
/// holds memory + i - j for j = 0 .. memory + i, so it ends with 0; later words are hidden.
/// Throws Error(usage) if memory < 0 or length < 1.
std::vector<std::vector<Index>> distances_with_memory(Index memory, Index length);

}  // namespace locus
