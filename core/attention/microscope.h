#pragma once
// Why is this cell 0.214?  One cell of disentangled attention, replayed by scalar arithmetic to the last bit.
#include <vector>

#include "core/attention/disentangled.h"
#include "core/attention/softmax.h"
#include "core/positions/relative_buckets.h"
#include "core/tensor.h"

namespace locus {

/// One term of the cell: the two vectors, channel by channel.
template <class Scalar>
struct TermExplanation {
    bool active = false;
    Index row = -1;                   // row of the relative table; -1 for c2c
    std::vector<Scalar> left, right;  // q_i and k_j, q_i and k_r[row], k_j and q_r[row]
    std::vector<Scalar> products;     // left[c] * right[c]
    std::vector<Scalar> running;      // partial sums; the last is the term
    Scalar value = 0;
};

/// One row of a matrix.
template <class Scalar>
std::vector<Scalar> channels_of(const ConstView<Scalar>& matrix, Index row) {
    return {matrix.row(row).data(), matrix.row(row).data() + matrix.cols()};
}

/// left [d] . right [d], channel by channel from 0: the order of products_of_rows.
template <class Scalar>
TermExplanation<Scalar> explain_term(std::vector<Scalar> left, std::vector<Scalar> right, Index row);

/// Which terms enter the sum of an experiment; a dropped one is still explained.
struct KeptTerms {
    bool c2c = true, c2p = true, p2c = true;

    bool all() const { return c2c && c2p && p2c; }
    bool operator==(const KeptTerms&) const = default;
};

template <class Scalar>
struct CellExplanation {
    Index i = 0, j = 0;
    Index offset = 0;  // i - j
    Index bucket = 0;  // row - span, what the offset became
    TermExplanation<Scalar> c2c, c2p, p2c;
    KeptTerms kept;             // of the sum
    Scalar sum = 0;             // c2c + c2p + p2c, of those that are kept
    int terms = 0;              // n
    Scalar divisor = 1;         // sqrt(n d)
    Scalar score = 0;           // sum / divisor
    bool visible = true;        // false: the mask hides the pair
    bool sees_nothing = false;  // the query has no visible key at all: the probability is what MaskedRow says
    Scalar row_maximum = 0;     // over visible keys
    Index row_maximum_key = -1;
    Scalar shifted = 0;      // score - row_maximum
    Scalar exponential = 0;  // exp(shifted)
    Scalar denominator = 0;  // sum of the row's exponentials
    Scalar probability = 0;
};

/// What one head of one pass is made of.  k_r or q_r stay empty where the term is not active.
template <class Scalar>
struct HeadTensors {
    Matrix<Scalar> q, k;                     // [Tq,d], [Tk,d]
    Matrix<Scalar> k_r, q_r;                 // [2k,d]
    Mask mask;                               // [Tq,Tk] or empty
    MaskedRow masked_row = MaskedRow::zero;  // what a query without a visible key gets
};

/// Replays cell (i, j); every number has exactly the bits that the matrix functions give (asserted by tests).
/// Throws if i, j or the shapes do not fit.  `divisor_terms` is n (1 + active terms, unless a dialect counts
/// otherwise).
template <class Scalar>
CellExplanation<Scalar> explain_cell(const HeadTensors<Scalar>& head, const RelativeBuckets& line, P2cIndex p2c_index,
                                     int divisor_terms, Index i, Index j, KeptTerms kept = {});

}  // namespace locus
