#include "core/products.h"

namespace locus {

template <class Scalar>
Matrix<Scalar> products_of_rows(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    LOCUS_CHECK(a.cols() == b.cols(), "products_of_rows: rows of " + std::to_string(a.cols()) + " and of " +
                                          std::to_string(b.cols()) + " channels, expected the same width");
    // Channel c of every row of b, side by side: [d,N].
    const Matrix<Scalar> b_channels = b.transpose();
    Matrix<Scalar> products = Matrix<Scalar>::Zero(a.rows(), b.rows());
    for (Index m = 0; m < a.rows(); ++m)
        // The channels go by in order; the sum over n is a vector instruction, and each cell is still summed on its
        // own.
        for (Index c = 0; c < a.cols(); ++c) products.row(m) += a(m, c) * b_channels.row(c);
    return products;
}

namespace {

void check_inner(const char* who, Index a, Index b) {
    LOCUS_CHECK(a == b, std::string(who) + ": matrices of " + std::to_string(a) + " and of " + std::to_string(b) +
                            " along the axis that is summed, expected as many");
}

}  // namespace

template <class Scalar>
Matrix<Scalar> times(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    check_inner("times", a.cols(), b.rows());
    return a * b;
}

template <class Scalar>
Matrix<Scalar> times_transposed(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    check_inner("times_transposed", a.cols(), b.cols());
    return a * b.transpose();
}

template <class Scalar>
Matrix<Scalar> transposed_times(const ConstView<Scalar>& a, const ConstView<Scalar>& b) {
    check_inner("transposed_times", a.rows(), b.rows());
    return a.transpose() * b;
}

template <class Scalar>
TermExplanation<Scalar> explain_term(std::vector<Scalar> left, std::vector<Scalar> right, Index row) {
    LOCUS_CHECK(left.size() == right.size(), "explain_term: vectors of " + std::to_string(left.size()) + " and " +
                                                 std::to_string(right.size()) + " channels, expected the same width");
    TermExplanation<Scalar> term;
    term.active = true;
    term.row = row;
    for (std::size_t c = 0; c < left.size(); ++c) {
        term.products.push_back(left[c] * right[c]);
        term.value += term.products.back();
        term.running.push_back(term.value);
    }
    term.left = std::move(left);
    term.right = std::move(right);
    return term;
}

template Matrix<float> products_of_rows<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<float> times<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<float> times_transposed<float>(const ConstView<float>&, const ConstView<float>&);
template Matrix<float> transposed_times<float>(const ConstView<float>&, const ConstView<float>&);
template TermExplanation<float> explain_term<float>(std::vector<float>, std::vector<float>, Index);
template Matrix<double> products_of_rows<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<double> times<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<double> times_transposed<double>(const ConstView<double>&, const ConstView<double>&);
template Matrix<double> transposed_times<double>(const ConstView<double>&, const ConstView<double>&);
template TermExplanation<double> explain_term<double>(std::vector<double>, std::vector<double>, Index);

}  // namespace locus
