#pragma once
// Two-stream attention of XLNet: who sees whom, the segment term, and the rows that are predicted.
// Yang et al. 2019, section 2.3-2.5; zihangdai/xlnet modeling.py; spec 8.
#include <vector>

#include "core/attention/relative.h"
#include "core/attention/softmax.h"
#include "core/positions/relative_distances.h"
#include "core/tensor.h"

namespace locus {

/// The masks of both streams for one sample, 1 = visible, [T, M + T].
struct TwoStreamMasks {
    Mask content;  // h: what query sees, and always itself
    Mask query;    // g: without itself, unless nothing hides the diagonal (unidirectional without perm_mask; spec 8.2)
};

/// What may hide a key, in the meaning of the code: 1 = hidden.
struct TwoStreamHiding {
    Index memory = 0;                                // M: always visible
    Direction direction = Direction::bidirectional;  // unidirectional: also every key right of the query
    bool same_length = false;   // unidirectional only: also keys with j < i, so that all see equally many
    Mask permutation;           // perm_mask [T,T] or empty
    std::vector<bool> padding;  // input_mask [T] or empty
};

/// Source: modeling.py transformer_xl: attn_mask, non_tgt_mask.  Throws Error(usage) if a mask is not T wide.
TwoStreamMasks two_stream_masks(Index queries, const TwoStreamHiding& hiding);

/// Segment term, raw: ef[i,j] = (q_i + s) . segments[differs(i,j)], row 0 = same segment, 1 = another.
/// q [T,d], s [d], segments [2,d]; ids of the T queries and of the K keys (memory has id 0) -> [T,K].
template <class Scalar>
Matrix<Scalar> segment_term(const ConstView<Scalar>& q, const RowVector<Scalar>& s, const ConstView<Scalar>& segments,
                            const std::vector<std::int64_t>& query_ids, const std::vector<std::int64_t>& key_ids);

/// The token that each row of a target mapping selects; -1 for a row of zeros (a target that is not used).
/// mapping [P,T] of 0 and 1.  Throws Error(usage) for another number, or two ones in a row.
std::vector<Index> target_positions(const ConstView<double>& mapping);

}  // namespace locus
