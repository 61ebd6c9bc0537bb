#pragma once
// How near two texts are: by distance, by angle, and in a space of topics.
#include "core/products.h"
#include "core/tensor.h"
#include "core/text/statistics/tf_idf.h"

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

// --- topics ----------------------------------------------------------------------------------------------------------
// Documents and words in a space of topics: a truncated singular value decomposition.  Deerwester et al. 1990.

struct LatentSemantics {
    RowVector<double> strengths;  // [topics] singular values, falling
    Matrix<double> documents;     // [documents, topics] U S: where a document lies in the space of topics
    Matrix<double> words;         // [words, topics] V: how much of each word is in a topic, columns of length 1
    /// Share of the squared length of the whole matrix that each topic explains, [topics]; all topics together 1.
    RowVector<double> shares;

    /// documents * words^T: the nearest matrix of that rank, [documents, words].
    Matrix<double> reconstruct() const { return times_transposed<double>(documents, words); }
    /// A new row of weights [words] in the space of topics, [topics].
    RowVector<double> project(const RowVector<double>& weights) const { return times<double>(weights, words); }
};

/// The `topics` strongest directions of a document-term matrix [documents, words].  The sign of a topic is free; here
/// its largest word weight is positive.
/// Throws Error(usage) unless 1 <= topics <= min(documents, words) and every value is finite.
LatentSemantics latent_semantics(const ConstView<double>& rows, Index topics);

}  // namespace locus
