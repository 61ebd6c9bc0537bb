#include "core/text/statistics/similarity.h"

#include <algorithm>

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

}  // namespace locus
