#include "core/attention/disentangled.h"

#include <cmath>

#include "core/attention/products.h"
#include "core/fast/slices.h"

namespace locus {

namespace {

void check_rows(const char* who, const char* what, Index found, Index expected) {
    LOCUS_CHECK(found == expected, std::string(who) + ": " + what + " has " + std::to_string(found) +
                                       " rows, expected " + std::to_string(expected));
}

}  // namespace

template <class Scalar>
Matrix<Scalar> content_to_content(const ConstView<Scalar>& q, const ConstView<Scalar>& k) {
    return products_of_rows<Scalar>(q, k);
}

template <class Scalar>
void add_content_to_position(const ConstView<Scalar>& q, const ConstView<Scalar>& k_r, const RelativeBuckets& line,
                             View<Scalar> scores) {
    check_rows("content_to_position", "q", q.rows(), line.queries());
    check_rows("content_to_position", "k_r", k_r.rows(), 2 * line.span());
    const Matrix<Scalar> k_r_reversed = k_r.colwise().reverse();
    add_slices_by_query<Scalar>(products_of_rows<Scalar>(q, k_r_reversed), line, scores);
}

template <class Scalar>
Matrix<Scalar> content_to_position(const ConstView<Scalar>& q, const ConstView<Scalar>& k_r,
                                   const RelativeBuckets& line) {
    Matrix<Scalar> scores = Matrix<Scalar>::Zero(line.queries(), line.keys());
    add_content_to_position<Scalar>(q, k_r, line, scores);
    return scores;
}

template <class Scalar>
void add_position_to_content(const ConstView<Scalar>& k, const ConstView<Scalar>& q_r, const RelativeBuckets& line,
                             P2cIndex index, View<Scalar> scores) {
    check_rows("position_to_content", "q_r", q_r.rows(), 2 * line.span());
    if (index == P2cIndex::official_ij) {
        check_rows("position_to_content", "k", k.rows(), line.keys());
        add_slices_by_key<Scalar>(products_of_rows<Scalar>(k, q_r), line, scores);
    } else {
        // As printed, key j asks with its own offset j - i: the pairs (j, i) are those of c2p with the roles exchanged.
        scores += content_to_position<Scalar>(k, q_r, line).transpose();
    }
}

template <class Scalar>
Matrix<Scalar> position_to_content(const ConstView<Scalar>& k, const ConstView<Scalar>& q_r,
                                   const RelativeBuckets& line, P2cIndex index) {
    const bool official = index == P2cIndex::official_ij;
    Matrix<Scalar> scores =
        Matrix<Scalar>::Zero(official ? line.queries() : line.keys(), official ? line.keys() : line.queries());
    add_position_to_content<Scalar>(k, q_r, line, index, scores);
    return scores;
}

template <class Scalar>
Matrix<Scalar> position_to_position(const ConstView<Scalar>& q_r, const ConstView<Scalar>& k_r,
                                    const RelativeBuckets& line) {
    check_rows("position_to_position", "q_r", q_r.rows(), 2 * line.span());
    check_rows("position_to_position", "k_r", k_r.rows(), 2 * line.span());
    LOCUS_CHECK(line.queries() == line.keys(), "position_to_position: a line of " + std::to_string(line.queries()) +
                                                   " x " + std::to_string(line.keys()) + " pairs, expected a square");
    const Matrix<Scalar> table = products_of_rows<Scalar>(q_r, k_r);
    Matrix<Scalar> scores(line.queries(), line.keys());
    for (Index i = 0; i < line.queries(); ++i)
        for (Index j = 0; j < line.keys(); ++j) scores(i, j) = table(line.row(j, i), line.row(i, j));
    return scores;
}

template <class Scalar>
Scalar score_divisor(int terms, Index head_width) {
    return std::sqrt(Scalar(terms) * Scalar(head_width));
}

template Matrix<float> content_to_content<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<float> content_to_position<float>(const ConstView<float>&, const ConstView<float>&,
                                                  const RelativeBuckets&);
template Matrix<float> position_to_content<float>(const ConstView<float>&, const ConstView<float>&,
                                                  const RelativeBuckets&, P2cIndex);
template Matrix<float> position_to_position<float>(const ConstView<float>&, const ConstView<float>&,
                                                   const RelativeBuckets&);
template void add_content_to_position<float>(const ConstView<float>&, const ConstView<float>&, const RelativeBuckets&,
                                             View<float>);
template void add_position_to_content<float>(const ConstView<float>&, const ConstView<float>&, const RelativeBuckets&,
                                             P2cIndex, View<float>);
template float score_divisor<float>(int, Index);
template Matrix<double> content_to_content<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<double> content_to_position<double>(const ConstView<double>&, const ConstView<double>&,
                                                    const RelativeBuckets&);
template Matrix<double> position_to_content<double>(const ConstView<double>&, const ConstView<double>&,
                                                    const RelativeBuckets&, P2cIndex);
template Matrix<double> position_to_position<double>(const ConstView<double>&, const ConstView<double>&,
                                                     const RelativeBuckets&);
template void add_content_to_position<double>(const ConstView<double>&, const ConstView<double>&,
                                              const RelativeBuckets&, View<double>);
template void add_position_to_content<double>(const ConstView<double>&, const ConstView<double>&,
                                              const RelativeBuckets&, P2cIndex, View<double>);
template double score_divisor<double>(int, Index);

}  // namespace locus
