#pragma once
// Why is this cell 0.617?  One cell of relative attention, Transformer-XL's or one stream of XLNet's, replayed by
// scalar arithmetic to the last bit.  Dai et al. 2019, section 3.3; Yang et al. 2019, section 2.5;
// spec 7.2-7.4, 8.2-8.4.
#include <vector>

#include "core/attention/microscope.h"
#include "core/attention/relative.h"
#include "core/attention/softmax.h"
#include "core/tensor.h"

namespace locus {

/// What one head is made of: stages and weights.  Letters as in relative.h; P rows of q.
template <class Scalar>
struct RelativeHeadTensors {
    Matrix<Scalar> q, k;           // [P,d], [K,d], memory first
    Matrix<Scalar> r_k;            // [R,d]
    RowVector<Scalar> u, v;        // [d], r_w_bias and r_r_bias
    Index first = 0;               // distance of row 0 of r_k: K - 1 in Transformer-XL, K in XLNet
    Index memory = 0;              // M
    std::vector<Index> positions;  // token of the segment where each query stands
    Mask mask;                     // [P,K], 1 = visible
    MaskedRow masked_row = MaskedRow::zero;

    // The segment term of XLNet; empty: none.
    RowVector<Scalar> s;                           // [d], r_s_bias
    Matrix<Scalar> segments;                       // [2,d], row 0 same segment, row 1 another
    std::vector<std::int64_t> query_ids, key_ids;  // [P], [K]

    bool has_segments() const { return segments.size() > 0; }
};

/// From a score to a probability, over the visible keys of one row.
template <class Scalar>
struct RelativeSoftmax {
    bool visible = true;        // false: the mask hides the pair
    bool sees_nothing = false;  // the query has no visible key at all: the probability is what the code makes of that
    Scalar row_maximum = 0;
    Index row_maximum_key = -1;
    Scalar shifted = 0;      // score - row_maximum
    Scalar exponential = 0;  // exp(shifted)
    Scalar denominator = 0;  // sum of the row's exponentials
    Scalar probability = 0;
};

/// scores [K] of one row, visible [K] of 0 and 1; the bits of masked_softmax.
template <class Scalar>
RelativeSoftmax<Scalar> explain_relative_softmax(const std::vector<Scalar>& scores,
                                                 const std::vector<std::uint8_t>& visible, Index j,
                                                 MaskedRow masked_row);

template <class Scalar>
struct RelativeCellExplanation {
    Index i = 0, j = 0;  // row of q, column of k
    Index position = 0;  // where the query stands in its segment
    Index distance = 0;  // M + position - j
    Index row = -1;      // first - distance: row of r_k, column of bd_raw; -1: no such row, b and d and bd are 0
    bool other_segment = false;
    // The four terms of the paper, each by itself: q_i . k_j, q_i . r, u . k_j, v . r.
    TermExplanation<Scalar> a, b, c, d;
    // As the code adds them: (q_i + u) . k_j, (q_i + v) . r, (q_i + s) . segment row.  These give the score's bits.
    TermExplanation<Scalar> ac, bd, ef;
    Scalar counted_bd = 0;  // bd, or 0 where the mask hides the pair, as the stage has it
    Scalar sum = 0;         // ac + counted_bd + ef
    Scalar divisor = 1;     // sqrt(d)
    Scalar score = 0;
    RelativeSoftmax<Scalar> softmax;
};

/// Replays cell (i, j); ac, bd, ef, score and probability have exactly the bits of the stages, a b c d those of
/// relative_terms (asserted by tests).  Throws Error(usage) if i, j or the shapes do not fit.
template <class Scalar>
RelativeCellExplanation<Scalar> explain_relative_cell(const RelativeHeadTensors<Scalar>& head, Index i, Index j);

/// Where a number stood before a shift trick moved it.
struct ShiftSource {
    Index place = 0;            // cells before it in memory, the first row, which is dropped, among them
    Index row = 0, column = 0;  // of bd_raw; column -1: a zero of the padding
};
/// Transformer-XL's trick backwards: cell (i, j) of [T,K] was read from here.  Throws Error(usage) outside.
ShiftSource shift_source(Index queries, Index keys, Index i, Index j);
/// XLNet's, for bd_raw [T,R] and the first K < R columns of the result.
ShiftSource shift_source_xlnet(Index queries, Index rows, Index keys, Index i, Index j);

}  // namespace locus
