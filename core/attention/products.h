#pragma once
// Dot products of all rows of one matrix with all rows of another, in an order that a reader can replay.
#include "core/tensor.h"

namespace locus {

/// products[m,n] = sum over c of a[m,c] * b[n,c], added up channel by channel from 0, each product and each sum rounded
/// once.  So every cell has exactly the bits of the plain loop, whatever the sizes.
/// a [M,d], b [N,d] -> [M,N].  Throws if the widths differ.
template <class Scalar>
Matrix<Scalar> products_of_rows(const ConstView<Scalar>& a, const ConstView<Scalar>& b);

}  // namespace locus
