#pragma once
// Two-stream attention of XLNet backwards.  Yang et al. 2019, section 2.3-2.5; spec 8 and 9.2.
#include <vector>

#include "core/attention/relative_backward.h"
#include "core/attention/two_stream.h"

namespace locus {

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

}  // namespace locus
