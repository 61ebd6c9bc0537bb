#pragma once
// Two-stream attention of XLNet: who sees whom, the segment term, and the rows that are predicted; forward, backward,
// and why a pair is hidden.  Everything else of a stream is relative attention (relative.h).
// Yang et al. 2019, section 2.3-2.5; zihangdai/xlnet modeling.py.
#include <vector>

#include "core/attention/relative.h"
#include "core/attention/softmax.h"
#include "core/positions/position_rows.h"
#include "core/tensor.h"

namespace locus {

/// The masks of both streams for one sample, 1 = visible, [T, M + T].
struct TwoStreamMasks {
    Mask content;  // h: what query sees, and always itself
    Mask query;    // g: without itself, unless nothing hides the diagonal (unidirectional without perm_mask)
};

/// What may hide a key, in the meaning of the code: 1 = hidden.
struct TwoStreamHiding {
    Index memory = 0;                                // M: hidden by same_length alone
    Direction direction = Direction::bidirectional;  // unidirectional: also every key right of the query
    bool same_length = false;   // unidirectional only: also keys with j < i, counted from the oldest of the memory,
                                // so that all see equally many
    Mask permutation;           // perm_mask [T,T] or empty
    std::vector<bool> padding;  // input_mask [T] or empty
};

/// Source: modeling.py transformer_xl: attn_mask, non_tgt_mask.  Throws Error(usage) if a mask is not T wide.
TwoStreamMasks two_stream_masks(Index queries, const TwoStreamHiding& hiding);

/// Segment term, raw: ef[i,j] = (q_i + s) . segments[differs(i,j)], row 0 = same segment, 1 = another.
/// q [T,d], s [d], segments [2,d]; ids of the T queries and of the K keys (memory has id 0) -> [T,K].
/// Throws Error(usage) if widths differ or a query has no id.
template <class Scalar>
Matrix<Scalar> segment_term(const ConstView<Scalar>& q, const RowVector<Scalar>& s, const ConstView<Scalar>& segments,
                            const std::vector<std::int64_t>& query_ids, const std::vector<std::int64_t>& key_ids);

/// The token that each row of a target mapping selects; -1 for a row of zeros (a target that is not used).
/// mapping [P,T] of 0 and 1.  Throws Error(usage) for another number, two ones in a row, or two rows with the same
/// token: XLNet adds their queries, which no training asks for.
std::vector<Index> target_positions(const ConstView<double>& mapping);

// Backward

template <class Scalar>
struct SegmentGradients {
    Matrix<Scalar> q;         // [P,d]
    RowVector<Scalar> bias;   // [d]
    Matrix<Scalar> segments;  // [2,d]
};

/// ef_ij = (q_i + s) . segments[differs(i,j)], so with dE [P,2] = the sum of row i of d_ef over the keys of the same
/// and over those of another segment:  d_q = dE segments,  d_s = its rows' sum,  d_segments = dE^T (q + s).
/// q [P,d], s [d], segments [2,d], ids of queries and keys as in segment_term, d_ef [P,K], raw.
/// Throws Error(usage) that names what does not fit.
template <class Scalar>
SegmentGradients<Scalar> segment_term_backward(const ConstView<Scalar>& q, const RowVector<Scalar>& s,
                                               const ConstView<Scalar>& segments,
                                               const std::vector<std::int64_t>& query_ids,
                                               const std::vector<std::int64_t>& key_ids, const ConstView<Scalar>& d_ef);

/// The segment term of one head; an empty table: the input has no segments.
template <class Scalar>
struct SegmentKeys {
    RowVector<Scalar> bias;             // s, [d]
    Matrix<Scalar> segments;            // [2,d]: same, different
    std::vector<std::int64_t> key_ids;  // [K], memory first (0); a query has the id of the token it stands at
};

/// What a head has once, and what each stream has for itself.
template <class Scalar>
struct TwoStreamGradients {
    Matrix<Scalar> content_q, query_q;              // [T,d] of h, [P,d] of g
    Matrix<Scalar> k, v, r_k;                       // [K,d], [K,d], [R,d]: both streams' shares added
    RowVector<Scalar> content_bias, position_bias;  // [d]
    RowVector<Scalar> segment_bias;                 // [d], empty without segments
    Matrix<Scalar> segments;                        // [2,d], empty without segments
};

/// h and g ask the same keys, positions and segments, so whatever they share gets the sum of what both streams bring:
/// relative_backward of each, and with its dS, which is the gradient of every raw term, segment_term_backward.
/// Keys and values are made of h alone: nothing of g's gradient reaches g but through its own queries.
/// query_stream.q [0,d]: no targets.  d_context_h [T,d], d_context_g [P,d].
/// Throws Error(usage) that names what does not fit.  No recorded gradients exist; checked by differences.
template <class Scalar>
TwoStreamGradients<Scalar> two_stream_backward(const RelativeKeys<Scalar>& keys, const SegmentKeys<Scalar>& segments,
                                               const RelativeQueries<Scalar>& content_stream,
                                               const ConstView<Scalar>& d_context_h,
                                               const RelativeQueries<Scalar>& query_stream,
                                               const ConstView<Scalar>& d_context_g);

// Explanation: why does this query not see that key?

enum class Stream { content, query };

/// What hides a key, the first that applies in this order.
enum class HiddenBy {
    nothing,      // the pair is visible
    padding,      // the key is no word
    itself,       // the query stream must not see the token that it predicts
    permutation,  // perm_mask: predicted later, or not to be seen by this query
    later,        // unidirectional: right of the query
    too_old,      // same_length: too far back for this query
};

/// Entry (position, key) of two_stream_masks: nothing exactly where that mask is 1.  key counts from the oldest of the
/// memory.  Throws Error(usage) outside of [queries, memory + queries].
HiddenBy hidden_by(Index queries, const TwoStreamHiding& hiding, Stream stream, Index position, Index key);

/// "it is predicted later" as a sentence's second half; empty for nothing.
const char* reason_of(HiddenBy hidden);

}  // namespace locus
