#pragma once
// Products of matrices.  Every raw score of every mechanism is a dot product of two rows, summed in an order that a
// reader can replay, and one of them can be replayed channel by channel.  Everything else (contexts, dense layers,
// backward passes) is a product of Eigen's, which is compiled here once: each place that writes one with `*` makes the
// compiler build the whole of it again, two or three seconds for every new kind of operand.
#include <vector>

#include "core/tensor.h"

namespace locus {

/// products[m,n] = sum over c of a[m,c] * b[n,c], added up channel by channel from 0, each product and each sum rounded
/// once.  So every cell has exactly the bits of the plain loop, whatever the sizes.
/// a [M,d], b [N,d] -> [M,N].  Throws Error(usage) if the widths differ.
template <class Scalar>
Matrix<Scalar> products_of_rows(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

/// a b: [M,N] x [N,K] -> [M,K].  This and the next two sum in Eigen's order, which depends on the sizes.  They throw
/// Error(usage) if the axes that are summed differ.
template <class Scalar>
Matrix<Scalar> times(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

/// a b^T: [M,N] x [K,N] -> [M,K].
template <class Scalar>
Matrix<Scalar> times_transposed(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

/// a^T b: [N,M] x [N,K] -> [M,K].
template <class Scalar>
Matrix<Scalar> transposed_times(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

/// One dot product with every step of its sum: one term of one score.
template <class Scalar>
struct TermExplanation {
    bool active = false;              // false: the model does not have this term
    Index row = -1;                   // row of the relative table that `right` or `left` was taken from; -1: none
    std::vector<Scalar> left, right;  // the two vectors, e.g. q_i and k_r[row]
    std::vector<Scalar> products;     // left[c] * right[c]
    std::vector<Scalar> running;      // partial sums; the last is the term
    Scalar value = 0;
};

/// left [d] . right [d], with the bits of products_of_rows.
template <class Scalar>
TermExplanation<Scalar> explain_term(std::vector<Scalar> left, std::vector<Scalar> right, Index row);

/// One row of a matrix, as explain_term takes it.
template <class Scalar>
std::vector<Scalar> channels_of(const ConstView<Scalar>& matrix, Index row) {
    return {matrix.row(row).data(), matrix.row(row).data() + matrix.cols()};
}

}  // namespace locus
