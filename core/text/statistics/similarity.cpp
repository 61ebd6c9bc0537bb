#include "core/text/statistics/similarity.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace locus {

namespace {

/// What `of(a, b)` says about every pair of n, computed once per pair.
template <class Scalar, class Of>
Matrix<Scalar> all_pairs(Index n, Of of) {
    Matrix<Scalar> values(n, n);
    for (Index a = 0; a < n; ++a)
        for (Index b = a; b < n; ++b) values(a, b) = values(b, a) = of(a, b);
    return values;
}

/// Rounding may carry a cosine past the end; NaN stays NaN.
template <class Scalar>
Scalar within_cosine(Scalar value) {
    return std::clamp<Scalar>(value, -1, 1);
}

template <class Scalar>
void check_lengths(const char* who, const RowVector<Scalar>& a, const RowVector<Scalar>& b) {
    LOCUS_CHECK(a.size() == b.size(), std::string(who) + ": lengths " + std::to_string(a.size()) + " and " +
                                          std::to_string(b.size()) + ", expected the same");
}

}  // namespace

template <class Scalar>
Scalar euclidean_distance(const RowVector<Scalar>& a, const RowVector<Scalar>& b) {
    check_lengths("euclidean_distance", a, b);
    return (a - b).stableNorm();
}

template <class Scalar>
Scalar cosine_similarity(const RowVector<Scalar>& a, const RowVector<Scalar>& b) {
    check_lengths("cosine_similarity", a, b);
    const Scalar length_a = a.stableNorm(), length_b = b.stableNorm();
    if (length_a == 0 || length_b == 0) return 0;
    return within_cosine((a / length_a).dot(b / length_b));  // divided first: the product of lengths may overflow
}

template <class Scalar>
Matrix<Scalar> euclidean_distances(const ConstView<Scalar>& rows) {
    return all_pairs<Scalar>(rows.rows(), [&](Index a, Index b) { return (rows.row(a) - rows.row(b)).stableNorm(); });
}

template <class Scalar>
Matrix<Scalar> cosine_similarities(const ConstView<Scalar>& rows) {
    return all_pairs<Scalar>(rows.rows(),
                             [&](Index a, Index b) { return cosine_similarity<Scalar>(rows.row(a), rows.row(b)); });
}

Matrix<double> euclidean_distances(const SparseRows& rows) {
    return all_pairs<double>(rows.rows(), [&](Index a, Index b) {
        return Eigen::SparseVector<double, Eigen::RowMajor>(rows.row(a) - rows.row(b)).norm();
    });
}

Matrix<double> cosine_similarities(const SparseRows& rows) {
    std::vector<double> lengths;
    for (Index row = 0; row < rows.rows(); ++row) lengths.push_back(rows.row(row).norm());
    return all_pairs<double>(rows.rows(), [&](Index a, Index b) {
        const double length_a = lengths[static_cast<std::size_t>(a)], length_b = lengths[static_cast<std::size_t>(b)];
        if (length_a == 0 || length_b == 0) return 0.0;
        return within_cosine(rows.row(a).dot(rows.row(b)) / (length_a * length_b));
    });
}

template float euclidean_distance<float>(const RowVector<float>&, const RowVector<float>&);
template double euclidean_distance<double>(const RowVector<double>&, const RowVector<double>&);
template float cosine_similarity<float>(const RowVector<float>&, const RowVector<float>&);
template double cosine_similarity<double>(const RowVector<double>&, const RowVector<double>&);
template Matrix<float> euclidean_distances<float>(const ConstView<float>&);
template Matrix<double> euclidean_distances<double>(const ConstView<double>&);
template Matrix<float> cosine_similarities<float>(const ConstView<float>&);
template Matrix<double> cosine_similarities<double>(const ConstView<double>&);

// --- topics ----------------------------------------------------------------------------------------------------------

namespace {

/// The columns made orthonormal from left to right (Gram and Schmidt, twice for the last digits).  A column that the
/// ones before it explain up to rounding is replaced by the first axis that they leave room for.
void orthonormalise(Eigen::MatrixXd& columns) {
    const double smallest = columns.colwise().norm().maxCoeff() * 1e-13;
    const double half_an_axis = 0.5 / std::sqrt(static_cast<double>(columns.rows()));  // some axis keeps twice that
    Index axis = 0;
    for (Index c = 0; c < columns.cols(); ++c) {
        const auto remove_what_is_explained = [&] {
            for (int round = 0; round < 2; ++round)
                for (Index before = 0; before < c; ++before)
                    columns.col(c) -= columns.col(before).dot(columns.col(c)) * columns.col(before);
            return columns.col(c).norm();
        };
        double length = remove_what_is_explained();
        for (double least = smallest; !(length > least); least = half_an_axis) {
            columns.col(c) = Eigen::VectorXd::Unit(columns.rows(), axis++);
            length = remove_what_is_explained();
        }
        columns.col(c) /= length;
    }
}

/// Right singular vectors V of A = U S V^T, the strongest first, from the symmetric eigenproblem of the smaller Gram
/// matrix:  A^T A = V S^2 V^T,  or  A A^T = U S^2 U^T and then A^T U = V S.  [words, wanted] where rounding leaves no
/// doubt that these are the strongest, otherwise all, [words, min(documents, words)].
Matrix<double> right_singular_vectors(const SparseRows& a, Index wanted) {
    constexpr double kCertain = 1e-10;  // of the largest eigenvalue: rounding reaches 1e-13 of it
    const bool few_words = a.cols() <= a.rows();
    const SparseRows transposed = a.transpose();
    const Eigen::MatrixXd gram = few_words ? SparseRows(transposed * a) : SparseRows(a * transposed);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(gram);
    const Eigen::VectorXd squares = solved.eigenvalues().reverse();  // Eigen puts the smallest first
    const Index kept = squares[wanted - 1] > kCertain * squares[0] ? wanted : squares.size();
    const Matrix<double> vectors = solved.eigenvectors().rowwise().reverse().leftCols(kept);
    if (few_words) return vectors;
    Eigen::MatrixXd words = transposed * vectors;
    orthonormalise(words);
    return words;
}

}  // namespace

LatentSemantics latent_semantics(const ConstView<double>& rows, Index topics) {
    const Index most = std::min(rows.rows(), rows.cols());
    LOCUS_CHECK(topics >= 1 && topics <= most,
                "latent_semantics: topics is " + std::to_string(topics) + ", expected 1 to " + std::to_string(most) +
                    " for " + std::to_string(rows.rows()) + " documents and " + std::to_string(rows.cols()) + " words");
    LOCUS_CHECK(rows.allFinite(), "latent_semantics: the matrix holds a value that is not finite");
    // Scaled to 1: the Gram matrix squares the values, which might overflow.
    const double largest_value = rows.cwiseAbs().maxCoeff(), scale = largest_value > 0 ? largest_value : 1;
    const SparseRows a = (rows / scale).sparseView();  // few of the words stand in any one document
    const Matrix<double> v = right_singular_vectors(a, topics), u_s = a * v * scale;

    // The strengths are the lengths of A V and not the roots of the eigenvalues: roots of squares lose half the digits
    // of the small ones, A V does not.  For the same reason the small ones may need sorting.
    const Eigen::VectorXd lengths = u_s.colwise().norm();
    std::vector<Index> order(static_cast<std::size_t>(lengths.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index x, Index y) { return lengths[x] > lengths[y]; });
    order.resize(static_cast<std::size_t>(topics));

    LatentSemantics space;
    space.strengths = lengths(order).transpose();
    space.documents = u_s(Eigen::all, order);
    space.words = v(Eigen::all, order);
    for (Index topic = 0; topic < topics; ++topic) {
        Index largest = 0;
        space.words.col(topic).cwiseAbs().maxCoeff(&largest);
        if (space.words(largest, topic) >= 0) continue;
        space.words.col(topic) = 0 - space.words.col(topic).array();  // not *= -1: no zero with a sign
        space.documents.col(topic) = 0 - space.documents.col(topic).array();
    }
    const double whole = rows.squaredNorm();
    space.shares = RowVector<double>::Zero(topics);
    if (whole > 0) space.shares = space.strengths.array().square() / whole;
    return space;
}

}  // namespace locus
