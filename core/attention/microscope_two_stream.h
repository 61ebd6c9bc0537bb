#pragma once
// Why does this query not see that key?  One entry of the masks of XLNet with its reason.
// Yang et al. 2019, section 2.3; zihangdai/xlnet modeling.py; spec 8.2.
#include "core/attention/two_stream.h"

namespace locus {

enum class Stream { content, query };

/// What hides a key, the first that applies in this order.
enum class HiddenBy {
    nothing,      // the pair is visible
    padding,      // the key is no word
    itself,       // the query stream must not see the token that it predicts
    permutation,  // perm_mask: predicted later, or not to be seen by this query
    later,        // unidirectional: right of the query
    too_old,      // same_length: further back than every query has
};

/// Entry (position, key) of two_stream_masks: nothing exactly where that mask is 1.  key counts from the oldest of the
/// memory.  Throws Error(usage) outside of [queries, memory + queries].
HiddenBy hidden_by(Index queries, const TwoStreamHiding& hiding, Stream stream, Index position, Index key);

/// "it is predicted later, or at the same time" as a sentence's second half; empty for nothing.
const char* reason_of(HiddenBy hidden);

}  // namespace locus
