#pragma once
// The order in which a permutation language model predicts the tokens, and who may see whom under it.
// Yang et al. 2019 (XLNet), section 2.2-2.3; zihangdai/xlnet data_utils.py _local_perm.
#include <vector>

#include "core/tensor.h"

namespace locus {

/// 1 where query i sees key j, [T,T].
using Visibility = Matrix<std::uint8_t>;

/// rank[order[t]] = t: when each position is predicted.  order: positions from 0, each once.
/// An order is not a rank array: 2,1,3,0 as an order has the ranks 3,1,0,2.
/// Throws Error(usage) if it is no permutation of 0 ... T - 1.
std::vector<Index> ranks_of_order(const std::vector<Index>& order);

/// Content stream: i sees j if j comes no later in the order: rank[j] <= rank[i].  -> [T,T], 1 = visible.  Throws as
/// ranks_of_order.
Visibility content_visibility(const std::vector<Index>& order);
/// Query stream: i sees j if j comes earlier: rank[j] < rank[i], so never itself.  -> [T,T].  Throws as
/// ranks_of_order.
Visibility query_visibility(const std::vector<Index>& order);

/// Pre-training's partial prediction: tokens that are no targets are given, not predicted.
struct PartialOrder {
    std::vector<Index> ranks;         // [T], a permutation: when each position would be predicted
    std::vector<bool> is_target;      // [T]
    std::vector<bool> is_functional;  // [T], [SEP] and [CLS]
};

/// perm_mask [T,T], 1 = hidden: plain tokens see all plain tokens and no target; a target sees plain tokens and the
/// targets and functional tokens of lower rank; a functional token sees itself too.  Plain tokens do not see [SEP] and
/// [CLS]; that is what the data code does.  Throws Error(usage) if the lengths differ or ranks is no permutation.
Visibility local_permutation_mask(const PartialOrder& partial);

}  // namespace locus
