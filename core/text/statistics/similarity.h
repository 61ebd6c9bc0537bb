#pragma once
// How alike are two vectors?
#include "core/text/statistics/bag_of_words.h"

namespace locus {

/// |a - b|, of two vectors of one length.  Throws Error(usage) if the lengths differ.
template <class Scalar>
Scalar euclidean_distance(const RowVector<Scalar>& a, const RowVector<Scalar>& b);

/// a.b / (|a| |b|), in [-1, 1]; 0 if one of them is zero, which has no direction to share.
/// Throws Error(usage) if the lengths differ.
template <class Scalar>
Scalar cosine_similarity(const RowVector<Scalar>& a, const RowVector<Scalar>& b);

/// Between all rows of a matrix [N, width] -> [N, N], symmetric.
template <class Scalar>
Matrix<Scalar> euclidean_distances(const ConstView<Scalar>& rows);
template <class Scalar>
Matrix<Scalar> cosine_similarities(const ConstView<Scalar>& rows);

/// The same for rows that are mostly zeros.
Matrix<double> euclidean_distances(const SparseRows& rows);
Matrix<double> cosine_similarities(const SparseRows& rows);

}  // namespace locus
